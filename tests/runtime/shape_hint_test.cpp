#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/detail/shape_hint.h>

#include "../facts.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kAny = Shape::kAnySize;
const Shape kGray{kAny, 28, 28, 1};
const Shape kColor{kAny, 6, 4, 3};
const Shape kChannelsFirst{kAny, 3, 6, 4};

TEST(ShapeHint, AddsTheBatchDimension) {
  for (const Shape& given :
       {Shape{28, 28, 1}, Shape{28, 28}, Shape{1, 28, 28}}) {
    EXPECT_EQ(slip_of(given, kGray), ShapeSlip::no_samples_axis);
    EXPECT_THAT(calls_in(shape_hint(given, kGray)),
                ElementsAre("x.reshaped({1,28,28,1})"));
  }
  // Unknown sizes are taken from the given shape.
  EXPECT_THAT(calls_in(shape_hint({5, 7, 3}, {kAny, kAny, kAny, 3})),
              ElementsAre("x.reshaped({1,5,7,3})"));
}

TEST(ShapeHint, AddsTheChannelsOfGrayImages) {
  EXPECT_THAT(calls_in(shape_hint({8, 28, 28}, kGray, "inputs")),
              ElementsAre("inputs.reshaped({8,28,28,1})"));
  EXPECT_EQ(slip_of({8, 10, 1}, {kAny, 10}), ShapeSlip::no_channels_axis);
}

TEST(ShapeHint, RestoresAxesOfFlattenedImages) {
  EXPECT_EQ(slip_of({8, 784}, kGray), ShapeSlip::flattened);
  EXPECT_THAT(calls_in(shape_hint({8, 784}, kGray)),
              ElementsAre("x.reshaped({8,28,28,1})"));
}

TEST(ShapeHint, TransposesMisplacedChannels) {
  EXPECT_EQ(slip_of({8, 3, 6, 4}, kColor), ShapeSlip::channels_first);
  EXPECT_THAT(calls_in(shape_hint({8, 3, 6, 4}, kColor)),
              ElementsAre("x.transposed({0,2,3,1})"));
  EXPECT_EQ(slip_of({8, 1, 28, 28}, kGray), ShapeSlip::channels_first);
  EXPECT_EQ(slip_of({8, 6, 4, 3}, kChannelsFirst), ShapeSlip::channels_last);
  EXPECT_EQ(slip_of({8, 4, 6, 3}, kColor), ShapeSlip::another_order);
}

TEST(ShapeHint, IsEmptyForUnusualShapes) {
  // Correct but for the number of samples; a different size; unknown sizes.
  EXPECT_EQ(shape_hint({0, 28, 28, 1}, kGray), "");
  EXPECT_EQ(shape_hint({8, 27, 28, 1}, kGray), "");
  EXPECT_EQ(shape_hint({8, 783}, kGray), "");
  EXPECT_EQ(shape_hint({kAny, 3, 6, 4}, kColor), "");
  EXPECT_EQ(shape_hint({}, kGray), "");
  EXPECT_EQ(shape_hint({3}, {}), "");
}

TEST(Transposition, IsTheFittingPermutation) {
  using Order = std::vector<int>;
  EXPECT_EQ(transposition({8, 2, 4}, {8, 4, 2}), (Order{0, 2, 1}));
  EXPECT_EQ(transposition({8, 2, 4}, {Shape::kAnySize, 4, 2}),
            (Order{0, 2, 1}));
  EXPECT_EQ(transposition({8, 3, 4, 5}, {8, 4, 5, 3}), (Order{0, 2, 3, 1}));
  EXPECT_EQ(transposition({8, 4, 5, 3}, {8, 3, 4, 5}), (Order{0, 3, 1, 2}));
  EXPECT_EQ(transposition({8, 5, 4, 3}, {8, 4, 5, 3}), (Order{0, 2, 1, 3}));
  // Two permutations fit; images are more likely.
  EXPECT_EQ(transposition({8, 3, 2, 2}, {8, 2, 2, 3}), (Order{0, 2, 3, 1}));
  EXPECT_TRUE(transposition({8, 4, 2}, {8, 4, 2}).empty());
  EXPECT_TRUE(transposition({8, 8}, {8, 4, 2}).empty());
  EXPECT_TRUE(transposition({8, 3, 4}, {8, 4, 2}).empty());
  EXPECT_TRUE(transposition({8, 4}, {4, 8}).empty());  // a single axis
  EXPECT_TRUE(transposition({}, {}).empty());
}

TEST(LabelShapeHint, SuggestsATranspositionOrAReshape) {
  EXPECT_THAT(calls_in(label_shape_hint({8, 2, 4}, {8, 4, 2})),
              ElementsAre("labels.transposed({0,2,1})"));
  EXPECT_THAT(calls_in(label_shape_hint({8, 8}, {8, 4, 2})),
              ElementsAre("labels.reshaped({8,4,2})"));
  EXPECT_THAT(
      calls_in(label_shape_hint({Shape::kAnySize, 8}, {Shape::kAnySize, 4, 2})),
      ElementsAre("labels.reshaped({n,4,2})"));
  EXPECT_THAT(calls_in(label_shape_hint({8, 1}, {8})),
              ElementsAre("labels.reshaped({8})"));
  EXPECT_EQ(label_shape_hint({8, 7}, {8, 4, 2}), "");
  EXPECT_EQ(label_shape_hint({}, {8, 4, 2}), "");
}

}  // namespace
}  // namespace octet
