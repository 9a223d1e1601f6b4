#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;

TEST(AvgPool2d, AveragesEachWindow) {
  const Variable x(Tensor::of<float>({1, 2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 10}));
  EXPECT_EQ(values(avg_pool2d(x, {2, 2}, {.strides{2, 2}})), (Floats{3.5, 6}));
}

TEST(AvgPool2d, DoesNotCountPadding) {
  const Variable x(Tensor::full({1, 3, 2, 3}, 5));
  const Variable y = avg_pool2d(x, {3, 3}, {.pads{1, 1, 1, 1}});
  EXPECT_EQ(y.shape(), Shape({1, 3, 2, 3}));
  EXPECT_EQ(values(y), Floats(18, 5));
}

TEST(AvgPool2d, CarriesNanToItsWindowsOnly) {
  const Variable x(Tensor::of<float>({1, 1, 4, 1}, {NAN, 1, 2, 4}));
  const auto y = values(avg_pool2d(x, {1, 2}, {.strides{1, 2}}));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 3);
}

TEST(AvgPool2d, RefusesWindowsThatHoldPaddingOnly) {
  const Variable x(counting({1, 4, 4, 1}));
  EXPECT_THAT(
      error_of<ValueError>([&] {
        (void)avg_pool2d(x, {2, 2}, {.pads{2, 0, 0, 0}});
      }),
      HasSubstr("avg_pool2d: expected padding smaller than the window"));
}

TEST(AvgPool2d, RefusesWindowsThatDoNotFit) {
  const Variable x(counting({1, 2, 4, 1}));
  EXPECT_THROW(avg_pool2d(x, {3, 1}, {}), ShapeError);
  EXPECT_THROW(avg_pool2d(x, {0, 1}, {}), ValueError);
  EXPECT_THROW(avg_pool2d(x, {2, 2}, {.dilation{2, 1}}), UnsupportedError);
  EXPECT_THROW(avg_pool2d(x, {2, 2}, {.strides{0, 1}}), ValueError);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_THROW(avg_pool2d(x, {2, 2}, {.strides{kMost, 1}}), ValueError);
  EXPECT_THROW(avg_pool2d(x, {kMost, 1}, {.pads{kMost - 1, kMost - 1, 0, 0}}),
               ValueError);
  constexpr int64_t kRoot = int64_t{1} << 32;  // its square is 0
  EXPECT_THROW(max_pool2d(x, {kRoot, kRoot}, {}), UnsupportedError);
  EXPECT_THROW(avg_pool2d(Variable(counting({4, 4})), {2, 2}, {}), ShapeError);
}

}  // namespace
}  // namespace octet
