#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/shape_hint.h>

namespace octet {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kAny = Shape::kAnySize;
const Shape kGrey{kAny, 28, 28, 1};
const Shape kColour{kAny, 6, 4, 3};
const Shape kChannelsFirst{kAny, 3, 6, 4};

TEST(ShapeHint, OfOneSampleAddsTheAxisOfSamples) {
  for (const Shape& given :
       {Shape{28, 28, 1}, Shape{28, 28}, Shape{1, 28, 28}}) {
    EXPECT_EQ(slip_of(given, kGrey), ShapeSlip::no_samples_axis);
    EXPECT_THAT(shape_hint(given, kGrey),
                HasSubstr(". Hint: add the axis of the samples, "
                          "x.reshaped({1,28,28,1})"));
  }
  // Unknown sizes are taken from the given shape.
  EXPECT_THAT(shape_hint({5, 7, 3}, {kAny, kAny, kAny, 3}),
              HasSubstr("x.reshaped({1,5,7,3})"));
}

TEST(ShapeHint, OfGreyImagesAddsTheChannels) {
  EXPECT_THAT(shape_hint({8, 28, 28}, kGrey, "inputs"),
              HasSubstr("inputs.reshaped({8,28,28,1})"));
  EXPECT_THAT(shape_hint({8, 10, 1}, {kAny, 10}), HasSubstr("({8,10})"));
}

TEST(ShapeHint, OfFlattenedImagesGivesThemTheirAxesBack) {
  EXPECT_EQ(slip_of({8, 784}, kGrey), ShapeSlip::flattened);
  EXPECT_THAT(shape_hint({8, 784}, kGrey),
              HasSubstr("x.reshaped({8,28,28,1}), if "));
}

TEST(ShapeHint, OfChannelsAtTheWrongEndTransposes) {
  EXPECT_EQ(slip_of({8, 3, 6, 4}, kColour), ShapeSlip::channels_first);
  EXPECT_THAT(shape_hint({8, 3, 6, 4}, kColour),
              HasSubstr("x.transposed({0,2,3,1})"));
  EXPECT_THAT(shape_hint({8, 1, 28, 28}, kGrey),
              HasSubstr("x.transposed({0,2,3,1})"));
  EXPECT_THAT(shape_hint({8, 6, 4, 3}, kChannelsFirst),
              HasSubstr("x.transposed({0,3,1,2})"));
  EXPECT_EQ(slip_of({8, 4, 6, 3}, kColour), ShapeSlip::another_order);
}

TEST(ShapeHint, IsSilentWhereNothingIsUsual) {
  // Correct but for the number of samples; a different size; unknown sizes.
  EXPECT_EQ(shape_hint({0, 28, 28, 1}, kGrey), "");
  EXPECT_EQ(shape_hint({8, 27, 28, 1}, kGrey), "");
  EXPECT_EQ(shape_hint({8, 783}, kGrey), "");
  EXPECT_EQ(shape_hint({kAny, 3, 6, 4}, kColour), "");
  EXPECT_EQ(shape_hint({}, kGrey), "");
  EXPECT_EQ(shape_hint({3}, {}), "");
}

TEST(Transposition, IsTheOrderThatFits) {
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
  EXPECT_THAT(label_shape_hint({8, 2, 4}, {8, 4, 2}),
              HasSubstr("labels.transposed({0,2,1})"));
  EXPECT_THAT(label_shape_hint({8, 8}, {8, 4, 2}),
              HasSubstr("labels.reshaped({8,4,2})"));
  EXPECT_THAT(label_shape_hint({Shape::kAnySize, 8}, {Shape::kAnySize, 4, 2}),
              HasSubstr("labels.reshaped({n,4,2})"));
  EXPECT_THAT(label_shape_hint({8, 1}, {8}), HasSubstr("reshaped({8})"));
  EXPECT_EQ(label_shape_hint({8, 7}, {8, 4, 2}), "");
  EXPECT_EQ(label_shape_hint({}, {8, 4, 2}), "");
}

}  // namespace
}  // namespace octet
