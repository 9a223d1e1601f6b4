#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kN = Shape::kAnySize;

TEST(GlobalAveragePooling2D, AveragesEachChannel) {
  const Tensor x = Tensor::of<float>({1, 1, 3, 2}, {1, -1, 2, -2, 6, -9});
  EXPECT_EQ(values(infer(GlobalAveragePooling2D(), x)), (Floats{3, -4}));
}

TEST(GlobalMaxPooling2D, ComputesTheMaximumOfEachChannel) {
  const Tensor x = Tensor::of<float>({1, 1, 3, 2}, {1, -1, 7, -2, 6, -9});
  EXPECT_EQ(values(infer(GlobalMaxPooling2D(), x)), (Floats{7, -1}));
}

TEST(GlobalPooling2D, KeepsTheAxesIfRequested) {
  const SymbolicTensor x = input({4, 6, 3});
  EXPECT_EQ(GlobalAveragePooling2D()(x).shape(), Shape({kN, 3}));
  EXPECT_EQ(GlobalMaxPooling2D()(x).shape(), Shape({kN, 3}));
  EXPECT_EQ(GlobalAveragePooling2D({.keepdims = true})(x).shape(),
            Shape({kN, 1, 1, 3}));
  EXPECT_EQ(GlobalMaxPooling2D({.keepdims = true})(x).shape(),
            Shape({kN, 1, 1, 3}));
  EXPECT_EQ(
      infer(GlobalAveragePooling2D({.keepdims = true}), integers({1, 4, 6, 17}))
          .shape(),
      Shape({1, 1, 1, 17}));
}

TEST(GlobalPooling2D, RejectsInputsOtherThanImages) {
  EXPECT_THROW(GlobalAveragePooling2D()(input({3})), ShapeError);
  EXPECT_THROW(GlobalMaxPooling2D()(input({4, 3})), ShapeError);
}

TEST(GlobalPooling2D, RoundTripsThroughItsConfiguration) {
  for (const char* name : {"GlobalAveragePooling2D", "GlobalMaxPooling2D"}) {
    const Config config =
        create_layer(name, Config().set("keepdims", true))->config();
    EXPECT_TRUE(config.at("keepdims").as_bool());
    EXPECT_EQ(create_layer(name, config)->config(), config);
  }
}

}  // namespace
}  // namespace octet
