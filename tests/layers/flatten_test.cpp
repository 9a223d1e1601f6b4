#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

TEST(Flatten, KeepsTheOrderOfRowsColumnsChannels) {
  const Tensor x = integers({2, 2, 3, 5});
  const Tensor y = infer(Flatten(), x);
  EXPECT_EQ(y.shape(), Shape({2, 30}));
  EXPECT_EQ(values(y), values(x));
}

TEST(Flatten, AcceptsABatchOfOneAndOneChannel) {
  EXPECT_EQ(infer(Flatten(), integers({1, 3, 2, 1})).shape(), Shape({1, 6}));
}

TEST(Flatten, LeavesRowsUnchanged) {
  EXPECT_EQ(Flatten()(input({7})).shape(), Shape({Shape::kAnySize, 7}));
}

TEST(Flatten, FlattensScalarsToRows) {
  EXPECT_EQ(Flatten()(input({})).shape(), Shape({Shape::kAnySize, 1}));
  const Tensor x = Tensor::of<float>({2}, {4, 5});
  EXPECT_EQ(infer(Flatten(), x).shape(), Shape({2, 1}));
}

TEST(Flatten, ComputesItsOutputShape) {
  EXPECT_EQ(Flatten()(input({4, 5, 3})).shape(), Shape({Shape::kAnySize, 60}));
}

TEST(Flatten, RejectsSeveralInputs) {
  const SymbolicTensor x = input({3});
  EXPECT_THROW(Flatten()({x, x}), ValueError);
}

TEST(Flatten, RoundTripsThroughItsConfiguration) {
  const Config config = Flatten()->config();
  EXPECT_EQ(create_layer("Flatten", config)->config(), config);
}

}  // namespace
}  // namespace octet
