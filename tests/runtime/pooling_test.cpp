#include <cmath>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/system.h>

#include "../support.h"
#include "every_isa.h"

namespace octet {
namespace {

using Floats = std::vector<float>;

TEST(AvgPool2d, AveragesEachWindow) {
  const Variable x(Tensor::of<float>({1, 2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 10}));
  EXPECT_EQ(values(avg_pool2d(x, {2, 2}, {.strides{2, 2}})), (Floats{3.5, 6}));
}

TEST(AvgPool2d, ExcludesPadding) {
  const Variable x(Tensor::full({1, 3, 2, 3}, 5));
  const Variable y = avg_pool2d(x, {3, 3}, {.pads{1, 1, 1, 1}});
  EXPECT_EQ(y.shape(), Shape({1, 3, 2, 3}));
  EXPECT_EQ(values(y), Floats(18, 5));
}

TEST(AvgPool2d, ConfinesNanToItsWindows) {
  const Variable x(Tensor::of<float>({1, 1, 4, 1}, {NAN, 1, 2, 4}));
  const auto y = values(avg_pool2d(x, {1, 2}, {.strides{1, 2}}));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 3);
}

TEST(AvgPool2d, RejectsWindowsOfPaddingOnly) {
  const Variable x(counting({1, 4, 4, 1}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)avg_pool2d(x, {2, 2}, {.pads{2, 0, 0, 0}});
            }),
            (Failure{"out_of_range", "avg_pool2d"}));
}

TEST(AvgPool2d, RejectsInvalidWindows) {
  const Variable x(counting({1, 2, 4, 1}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)avg_pool2d(x, {3, 1}, {});
            }),
            (Failure{"invalid_shape", "avg_pool2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)avg_pool2d(x, {0, 1}, {});
            }),
            (Failure{"out_of_range", "avg_pool2d"}));
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)avg_pool2d(x, {2, 2}, {.dilation{2, 1}});
            }),
            (Failure{"unsupported_value", "avg_pool2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)avg_pool2d(x, {2, 2}, {.strides{0, 1}});
            }),
            (Failure{"out_of_range", "window"}));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)avg_pool2d(x, {2, 2}, {.strides{kMost, 1}});
            }),
            (Failure{"out_of_range", "window"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] {
        (void)avg_pool2d(x, {kMost, 1}, {.pads{kMost - 1, kMost - 1, 0, 0}});
      }),
      (Failure{"out_of_range", "avg_pool2d"}));
  constexpr int64_t kRoot = int64_t{1} << 32;  // its square overflows to 0
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)max_pool2d(x, {kRoot, kRoot}, {});
            }),
            (Failure{"size_limit", "max_pool2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)avg_pool2d(Variable(counting({4, 4})), {2, 2}, {});
            }),
            (Failure{"invalid_shape", "avg_pool2d"}));
}

TEST(MaxPool2d, RejectsDilatedWindowsOfPaddingOnly) {
  const Variable x(counting({1, 1, 4, 1}));
  EXPECT_EQ(values(max_pool2d(x, {1, 2}, {.dilation{1, 3}})), (Floats{3}));
  // Rows -1 and 1 of an image with row 0 only.
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)max_pool2d(x, {2, 1}, {.dilation{2, 1}, .pads{1, 1, 0, 0}});
            }),
            (Failure{"out_of_range", "max_pool2d"}));
  for (const int64_t dilation : {0, -1}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)max_pool2d(x, {1, 2}, {.dilation{1, dilation}});
              }),
              (Failure{"out_of_range", "max_pool2d"}));
  }
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)max_pool2d(x, {1, 2}, {.dilation{1, kMost}});
            }),
            (Failure{"out_of_range", "window"}));
}

class LargestOfWindows : public EveryIsa {};

// Values and gradients of an image channel, pixel by pixel: the first of equal
// maxima gets the gradient.
struct Pooled {
  Tensor y, dx;
};
Pooled pooled(const Tensor& x, const Tensor& dy, Size2 window,
              const WindowOptions& o) {
  const Shape& in = x.shape();
  const Shape& out = dy.shape();
  Pooled result{Tensor(out), Tensor::zeros(in)};
  const auto at = [](const Shape& s, int64_t n, int64_t h, int64_t w,
                     int64_t c) {
    return static_cast<size_t>(((n * s[1] + h) * s[2] + w) * s[3] + c);
  };
  for (int64_t n = 0; n < out[0]; ++n)
    for (int64_t oh = 0; oh < out[1]; ++oh)
      for (int64_t ow = 0; ow < out[2]; ++ow)
        for (int64_t c = 0; c < out[3]; ++c) {
          std::optional<size_t> best;
          for (int64_t i = 0; i < window.h; ++i)
            for (int64_t j = 0; j < window.w; ++j) {
              const int64_t h =
                  oh * o.strides.h - o.pads.top + i * o.dilation.h;
              const int64_t w =
                  ow * o.strides.w - o.pads.left + j * o.dilation.w;
              if (h < 0 || h >= in[1] || w < 0 || w >= in[2]) continue;
              const size_t cell = at(in, n, h, w, c);
              if (!best || x.f32()[cell] > x.f32()[*best]) best = cell;
            }
          const size_t to = at(out, n, oh, ow, c);
          result.y.f32()[to] = x.f32()[*best];
          result.dx.f32()[*best] += dy.f32()[to];
        }
  return result;
}

TEST_P(LargestOfWindows, MatchPlainLoops) {
  struct Case {
    Size2 window;
    WindowOptions options;
  };
  const Case cases[] = {
      {{2, 2}, {.strides = 2}},
      {{3, 2}, {.strides{2, 1}, .pads{1, 1, 1, 0}}},
      {{3, 3}, {.strides = 1, .pads = 1}},
      {{1, 4}, {.strides{3, 5}}},  // some values are in no window
      {{16, 16}, {.strides = 1, .pads = 3}},
      {{2, 3}, {.strides{2, 1}, .dilation{4, 3}, .pads{3, 0, 5, 1}}},
  };
  for (const Case& c : cases)
    for (const int64_t channels : {1, 3, 4, 17, 37, 64}) {
      SCOPED_TRACE(testing::Message()
                   << c.window.h << "x" << c.window.w << " " << channels);
      Tensor x = noise({2, 13, 14, channels}, uint64_t{1});
      for (float& v : x.f32()) v = std::round(4 * v);  // many ties
      const Variable images(x, true);
      const Variable y = max_pool2d(images, c.window, c.options);
      const Tensor dy = noise(y.shape(), uint64_t{5});
      sum(multiply(y, Variable(dy))).backward();
      const Pooled expected = pooled(x, dy, c.window, c.options);
      EXPECT_EQ(bits(y), bits(expected.y));
      EXPECT_EQ(bits(images.grad()), bits(expected.dx));
    }
}

INSTANTIATE_TEST_SUITE_P(Isa, LargestOfWindows, every_isa(), isa_name);

}  // namespace
}  // namespace octet
