#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include <octet/layers/convolution.h>

namespace octet {
namespace {

/// Padding before and after an axis.
using Cells = std::pair<int64_t, int64_t>;

Cells same(int64_t size, int64_t window, int64_t stride, int64_t dilation = 1) {
  const Pads p =
      Padding::same.pads({size, 1}, {window, 1}, {stride, 1}, {dilation, 1});
  return {p.top, p.bottom};
}

TEST(Padding, ValidAddsNothing) {
  EXPECT_EQ(Padding::valid.pads({5, 7}, {3, 4}, {2, 1}, {1, 2}), Pads());
}

struct SameCase {
  const char* name;
  int64_t size, window, stride, dilation;
  Cells cells;
};

class SamePadding : public ::testing::TestWithParam<SameCase> {};

TEST_P(SamePadding, AddsThePaddingOfKeras) {
  const SameCase& c = GetParam();
  EXPECT_EQ(same(c.size, c.window, c.stride, c.dilation), c.cells);
}

constexpr SameCase kSameCases[] = {
    {"OddWindow3Evenly", 28, 3, 1, 1, {1, 1}},
    {"OddWindow5Evenly", 5, 5, 1, 1, {2, 2}},
    {"NothingForAWindowOfOne", 1, 1, 1, 1, {0, 0}},
    {"EvenWindow2OneMoreAtTheEnd", 5, 2, 1, 1, {0, 1}},
    {"EvenWindow4OneMoreAtTheEnd", 5, 4, 1, 1, {1, 2}},
    {"StrideTwoOfAnEvenSize", 28, 3, 2, 1, {0, 1}},
    {"StrideTwoOfAnOddSize", 7, 3, 2, 1, {1, 1}},
    {"StrideTwoOfALargeWindow", 224, 7, 2, 1, {2, 3}},
    {"StrideAsTheWindowOfAnEvenSize", 28, 2, 2, 1, {0, 0}},
    {"StrideAsTheWindowOfAnOddSize", 7, 2, 2, 1, {0, 1}},
    {"WindowLargerThanTheImage", 2, 5, 1, 1, {2, 2}},
    {"EvenWindowLargerThanTheImage", 1, 4, 1, 1, {1, 2}},
    {"WindowAndStrideLargerThanTheImage", 2, 5, 3, 1, {1, 2}},
    {"NothingWhereStridesSkipCells", 4, 1, 3, 1, {0, 0}},
    {"NothingWhereOneStrideLeavesTheImage", 5, 2, 8, 1, {0, 0}},
    {"ReachOfADilatedOddWindow", 10, 3, 1, 2, {2, 2}},
    {"ReachOfADilatedEvenWindow", 10, 2, 1, 3, {1, 2}},
    {"ReachOfADilatedWindowWithStrideTwo", 10, 3, 2, 2, {1, 2}},
};

INSTANTIATE_TEST_SUITE_P(Padding, SamePadding, ::testing::ValuesIn(kSameCases),
                         [](const auto& test) { return test.param.name; });

TEST(Padding, TreatsRowsAndColumnsSeparately) {
  const Pads expected{{0, 1}, {2, 2}};
  EXPECT_EQ(Padding::same.pads({28, 9}, {3, 5}, {2, 1}, {1, 1}), expected);
}

// https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2
TEST(Padding, SameYieldsCeilOfSizeByStrideWithMinimalPadding) {
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
