#include <gtest/gtest.h>

#include <octet/layers/padding.h>

namespace octet {
namespace {

/// The cells before and after one axis.
std::pair<int64_t, int64_t> same(int64_t size, int64_t window, int64_t stride,
                                 int64_t dilation = 1) {
  const Pads p = pads_of(Padding::same, {size, 1}, {window, 1}, {stride, 1},
                         {dilation, 1});
  return {p.top, p.bottom};
}

using Cells = std::pair<int64_t, int64_t>;

TEST(Padding, ValidAddsNothing) {
  EXPECT_EQ(pads_of(Padding::valid, {5, 7}, {3, 4}, {2, 1}, {1, 2}), Pads());
}

TEST(Padding, SameSurroundsOddWindowsEvenly) {
  EXPECT_EQ(same(28, 3, 1), Cells(1, 1));
  EXPECT_EQ(same(5, 5, 1), Cells(2, 2));
  EXPECT_EQ(same(1, 1, 1), Cells(0, 0));
}

TEST(Padding, SamePutsAnExtraCellAtTheEnd) {
  EXPECT_EQ(same(5, 2, 1), Cells(0, 1));
  EXPECT_EQ(same(5, 4, 1), Cells(1, 2));
}

TEST(Padding, SameWithStrideTwoDependsOnTheParityOfTheSize) {
  EXPECT_EQ(same(28, 3, 2), Cells(0, 1));
  EXPECT_EQ(same(7, 3, 2), Cells(1, 1));
  EXPECT_EQ(same(224, 7, 2), Cells(2, 3));
  EXPECT_EQ(same(28, 2, 2), Cells(0, 0));
  EXPECT_EQ(same(7, 2, 2), Cells(0, 1));
}

TEST(Padding, SameTakesWindowsLargerThanTheImage) {
  EXPECT_EQ(same(2, 5, 1), Cells(2, 2));
  EXPECT_EQ(same(1, 4, 1), Cells(1, 2));
  EXPECT_EQ(same(2, 5, 3), Cells(1, 2));
}

TEST(Padding, SameAddsNothingWhereStridesSkipCells) {
  EXPECT_EQ(same(4, 1, 3), Cells(0, 0));
  EXPECT_EQ(same(5, 2, 8), Cells(0, 0));
}

TEST(Padding, SameCountsTheReachOfADilatedWindow) {
  EXPECT_EQ(same(10, 3, 1, 2), Cells(2, 2));
  EXPECT_EQ(same(10, 2, 1, 3), Cells(1, 2));
  EXPECT_EQ(same(10, 3, 2, 2), Cells(1, 2));
}

TEST(Padding, TreatsRowsAndColumnsByThemselves) {
  const Pads expected{.top = 0, .bottom = 1, .left = 2, .right = 2};
  EXPECT_EQ(pads_of(Padding::same, {28, 9}, {3, 5}, {2, 1}, {1, 1}), expected);
}

// https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2
TEST(Padding, SameGivesCeilOfSizeByStrideWithTheFewestCells) {
  for (int64_t size = 1; size <= 12; ++size) {
    for (int64_t window = 1; window <= 6; ++window) {
      for (int64_t stride = 1; stride <= 4; ++stride) {
        for (int64_t dilation = 1; dilation <= 3; ++dilation) {
          const auto [before, after] = same(size, window, stride, dilation);
          const int64_t positions = (size + stride - 1) / stride;
          const int64_t total = before + after;
          SCOPED_TRACE(::testing::Message()
                       << "size " << size << ", window " << window
                       << ", stride " << stride << ", dilation " << dilation);
          EXPECT_GE(before, 0);
          EXPECT_TRUE(after == before || after == before + 1);
          EXPECT_EQ(window_positions(size, window, stride, dilation, total),
                    positions);
          if (total > 0) {
            EXPECT_LT(
                window_positions(size, window, stride, dilation, total - 1),
                positions);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace octet
