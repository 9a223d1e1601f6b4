#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/preprocess.h>
#include <octet/runtime/error.h>

#include "support.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;

/// Two pixels.
Tensor bytes_of_image() {
  return Tensor::of<uint8_t>({1, 1, 2, 3}, {0, 128, 255, 17, 99, 203});
}

struct Mode {
  const char* name;
  std::vector<float> expected;  // of preprocess_input of Keras 3.15
};

TEST(PreprocessInput, IsThatOfKeras) {
  for (const Mode& mode :
       {Mode{"tf",
             {-1.0f, 0.003921627998352051f, 1.0f, -0.8666666746139526f,
              -0.2235293984413147f, 0.5921568870544434f}},
        Mode{"torch",
             {-2.1179039478302f, 0.20518219470977783f, 2.640000104904175f,
              -1.8267831802368164f, -0.3025209605693817f, 1.7336820363998413f}},
        Mode{"caffe",
             {151.06100463867188f, 11.221000671386719f, -123.68000030517578f,
              99.06099700927734f, -17.77899932861328f, -106.68000030517578f}},
        Mode{"unit",
             {0, 128 / 255.0f, 1, 17 / 255.0f, 99 / 255.0f, 203 / 255.0f}},
        Mode{"none", {0, 128, 255, 17, 99, 203}}}) {
    const Tensor y = preprocess_input(bytes_of_image(), mode.name);
    ASSERT_EQ(y.shape(), Shape({1, 1, 2, 3}));
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_NEAR(y.f32()[i], mode.expected[i], 1e-6f * 255)
          << mode.name << " " << i;
      EXPECT_NEAR(y.f32()[i], mode.expected[i],
                  2e-6f * (1 + std::abs(mode.expected[i])))
          << mode.name << " " << i;
    }
  }
}

TEST(PreprocessInput, TakesFloatsToo) {
  const Tensor floats =
      Tensor::of<float>({1, 1, 2, 3}, {0, 128, 255, 17, 99, 203});
  EXPECT_EQ(values(preprocess_input(floats, "caffe")),
            values(preprocess_input(bytes_of_image(), "caffe")));
}

TEST(PreprocessInput, HasNumbersForEachChannelInTheOrderOfTheResult) {
  const Preprocess own{.mean = {1, 2, 3}, .scale = {10, 1, 0.5f}, .bgr = true};
  EXPECT_EQ(values(preprocess_input(bytes_of_image(), own)),
            (std::vector<float>{2540, 126, -1.5f, 2020, 97, 7}));
}

TEST(PreprocessInput, RefusesWhatDoesNotFit) {
  EXPECT_THAT(error_of<ValueError>([] { preprocess_mode("imagenet"); }),
              HasSubstr("expected a mode, got 'imagenet'"));
  EXPECT_THAT(error_of<ValueError>([] { preprocess_mode("Caffe"); }),
              HasSubstr("'caffe'"));
  const Tensor grey = Tensor::zeros({2, 2, 1});
  EXPECT_THROW(preprocess_input(grey, "caffe"), ValueError);
  EXPECT_THROW(preprocess_input(grey, "torch"), ValueError);
  EXPECT_NO_THROW(preprocess_input(grey, "tf"));
  EXPECT_THROW(preprocess_input(grey, Preprocess{.mean = {}}), ValueError);
  EXPECT_THROW(preprocess_input(grey, Preprocess{.scale = {1, 2}}), ValueError);
  EXPECT_THROW(preprocess_input(grey, Preprocess{.scale = {1.0f / 0.0f}}),
               ValueError);
  EXPECT_THROW(preprocess_input(Tensor::zeros({1, 3}, DType::i64), "tf"),
               ValueError);
  EXPECT_THROW(preprocess_input(Tensor(), "tf"), ShapeError);
}

}  // namespace
}  // namespace octet::io
