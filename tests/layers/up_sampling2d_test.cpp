#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kN = Shape::kAnySize;

TEST(UpSampling2D, RepeatsPixels) {
  const Tensor x = Tensor::of<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  const Tensor y = infer(UpSampling2D({.size = {1, 2}}), x);
  EXPECT_EQ(y.shape(), Shape({1, 2, 2, 2}));
  EXPECT_EQ(values(y), (Floats{1, 2, 1, 2, 3, 4, 3, 4}));
}

// Source: keras.layers.UpSampling2D((2, 3), interpolation="bilinear") of Keras
// 3.15 on JAX, for [[0, 6], [12, 30]].
TEST(UpSampling2D, InterpolatesAsKeras) {
  const Tensor y =
      infer(UpSampling2D({.size = {2, 3}, .interpolation = "bilinear"}),
            Tensor::of<float>({1, 2, 2, 1}, {0, 6, 12, 30}));
  const Floats expected{0, 0, 2,  4,  6,  6,  3,  3,  6,  9,  12, 12,
                        9, 9, 14, 19, 24, 24, 12, 12, 18, 24, 30, 30};
  ASSERT_EQ(y.shape(), Shape({1, 4, 6, 1}));
  for (size_t i = 0; i < expected.size(); ++i) {
    // Thirds are inexact in f32: a few roundings of 30.
    EXPECT_NEAR(values(y)[i], expected[i], 1e-5) << i;
  }
}

TEST(UpSampling2D, DoublesByDefault) {
  EXPECT_EQ(UpSampling2D()(input({4, 6, 3})).shape(), Shape({kN, 8, 12, 3}));
}

TEST(UpSampling2D, RejectsOptionsOutOfRange) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)UpSampling2D({.size = {2, 0}});
            }),
            (Failure{"out_of_range", "size"}));
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)UpSampling2D({.interpolation = "bicubic"}); }),
            (Failure{"invalid_value", "interpolation"}));
  EXPECT_THROW(UpSampling2D()(input({3})), ShapeError);
}

TEST(UpSampling2D, RoundTripsThroughItsConfiguration) {
  const Config config =
      UpSampling2D({.size = {2, 3}, .interpolation = "bilinear"})->config();
  EXPECT_EQ(create_layer("UpSampling2D", config)->config(), config);
}

}  // namespace
}  // namespace octet
