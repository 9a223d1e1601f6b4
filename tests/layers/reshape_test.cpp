#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

constexpr int64_t kN = Shape::kAnySize;

TEST(Reshape, PreservesTheOrderOfValues) {
  const Tensor x = integers({2, 2, 3, 5});
  const Tensor y = infer(Reshape({.target_shape = {5, 6}}), x);
  EXPECT_EQ(y.shape(), Shape({2, 5, 6}));
  EXPECT_EQ(values(y), values(x));
}

TEST(Reshape, InfersASize) {
  EXPECT_EQ(Reshape({.target_shape = {-1}})(input({2, 3, 5})).shape(),
            Shape({kN, 30}));
  EXPECT_EQ(Reshape({.target_shape = {3, -1, 2}})(input({2, 3, 5})).shape(),
            Shape({kN, 3, 5, 2}));
  EXPECT_EQ(Reshape({.target_shape = {1, 1, -1}})(input({17})).shape(),
            Shape({kN, 1, 1, 17}));
}

TEST(Reshape, AcceptsABatchOfOneAndScalarSamples) {
  EXPECT_EQ(infer(Reshape({.target_shape = {-1}}), integers({1, 3, 1})).shape(),
            Shape({1, 3}));
  EXPECT_EQ(Reshape()(input({1})).shape(), Shape({kN}));
  EXPECT_EQ(Reshape({.target_shape = {1, 1}})(input({})).shape(),
            Shape({kN, 1, 1}));
}

TEST(Reshape, RejectsTwoInferredSizesAndSizesBelowOne) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)Reshape({.target_shape = {-1, 2, -1}});
            }),
            (Failure{"invalid_value", "target_shape"}));
  EXPECT_THROW((void)Reshape({.target_shape = {0}}), ValueError);
  EXPECT_THROW((void)Reshape({.target_shape = {-2}}), ValueError);
}

TEST(Reshape, RejectsSamplesOfAnotherSize) {
  const auto failure = [](std::vector<int64_t> shape) {
    return failure_of<ShapeError>([&] {
      (void)Reshape({.target_shape = std::move(shape)})(input({2, 3, 5}));
    });
  };
  EXPECT_EQ(failure({7, 4}), (Failure{"shape_mismatch", "target_shape"}));
  EXPECT_EQ(failure({-1, 4}), (Failure{"shape_mismatch", "target_shape"}));
  EXPECT_EQ(failure({INT64_MAX, INT64_MAX}),
            (Failure{"shape_mismatch", "target_shape"}));
  EXPECT_EQ(failure({-1, 60}), (Failure{"shape_mismatch", "target_shape"}));
}

TEST(Reshape, RoundTripsThroughItsConfiguration) {
  const Config config = Reshape({.target_shape = {-1, 2}})->config();
  EXPECT_EQ(create_layer("Reshape", config)->config(), config);
  EXPECT_EQ(config.at("target_shape").as_list()[1].as_int(), 2);
}

}  // namespace
}  // namespace octet
