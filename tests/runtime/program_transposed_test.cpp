// Transposed convolutions: fused, in floats and in INT8.
#include <cmath>
#include <limits>

#include "programs.h"

namespace octet::programs {
namespace {

struct Transposed {
  Size2 x;
  int64_t c, k;
  Size2 kernel;
  WindowOptions options;
  int64_t groups = 1;
};

const Transposed kTransposed[] = {
    {{5, 4}, 6, 16, {2, 2}, {.strides = 2}},
    {{4, 7}, 17, 3, {3, 3}, {.strides = 2, .pads{1, 1, 1, 1}}},
    {{3, 5}, 1, 33, {3, 2}, {.strides{2, 1}, .pads{0, 1, 1, 0}}},
    {{6, 3}, 8, 5, {4, 3}, {.strides{1, 3}, .pads{1, 0, 0, 2}}},
    {{4, 5}, 5, 7, {3, 3}, {.strides = 1, .pads = 1}},
    {{5, 6}, 4, 9, {1, 1}, {.strides = 1}},
    {{1, 1}, 3, 4, {2, 2}, {.strides = 2}},
    {{4, 3}, 12, 6, {2, 3}, {.strides{1, 2}, .dilation{2, 1}}},
    {{4, 5}, 7, 6, {1, 2}, {.strides = 3}},  // phases without taps
    {{4, 5}, 8, 6, {3, 3}, {.strides = 2, .pads = 1}, 2},
};

Variable transposed(const Transposed& c, const Variable& x, const Variable& w) {
  const auto size = [](int64_t n, int64_t stride, int64_t kernel,
                       int64_t dilation, int64_t pads) {
    return (n - 1) * stride + (kernel - 1) * dilation + 1 - pads;
  };
  const WindowOptions& o = c.options;
  return conv2d_transpose(x, w,
                          {size(c.x.h, o.strides.h, c.kernel.h, o.dilation.h,
                                o.pads.top + o.pads.bottom),
                           size(c.x.w, o.strides.w, c.kernel.w, o.dilation.w,
                                o.pads.left + o.pads.right)},
                          o, c.groups);
}

TEST_P(Programs, FuseTransposedConvolutions) {
  for (const Transposed& c : kTransposed) {
    SCOPED_TRACE(testing::Message() << c.c << " to " << c.k << " channels");
    const Variable w = weight({c.kernel.h, c.kernel.w, c.k / c.groups, c.c}, 3);
    const Variable before = weight({3, 3, c.c, c.c}, 4);
    const Variable other = weight({1, 1, c.k, c.k}, 5);
    const Shape sample{1, c.x.h, c.x.w, c.c};
    const Net plain = [=](const Variable& x) { return transposed(c, x, w); };
    const auto copies = [&](const Net& net) {
      return count(capture(net, sample), "evaluate");
    };
    EXPECT_LE(copies(plain), 1);
    expect_same_for_threads(plain, sample, copies(plain));
    expect_same_for_threads(
        [=](const Variable& x) { return relu(norm(plain(x))); }, sample,
        copies(plain));
    for (const auto& [low, high] : kRanges) {
      const QuantParams range = qparams(0.03f, low, high);
      const Net quantized = [=](const Variable& x) {
        const Variable y = conv2d(x, before, {.pads = 1});
        const Variable z =
            transposed(c, fake_quantize(y, range),
                       fake_quantize(w, c.groups == 1 ? channel_qparams(c.k, 2)
                                                      : qparams(0.02f)));
        const Variable skip = conv2d(z, other);
        return quantized_conv(weight({3, 3, 2 * c.k, 5}, 6),
                              range)(concatenate({z, relu(add(skip, z))}, -1));
      };
      expect_same_for_threads(quantized, sample, copies(quantized));
    }
  }
}

// INT8 products are exact, as are floats of these sizes.
TEST_P(Programs, TransposedConvolutionsOfQuantizedValuesAreExact) {
  const NoGradGuard no_grad;
  for (const Transposed& c : kTransposed)
    for (const auto& [low, high] : kRanges) {
      const Tensor x = noise({2, c.x.h, c.x.w, c.c}, 7);
      const Variable w =
          weight({c.kernel.h, c.kernel.w, c.k / c.groups, c.c}, 3);
      const auto run = [&, from = low, to = high](const Net& f) {
        return transposed(
                   c, f(fake_quantize(Variable(x), qparams(0.02f, from, to))),
                   fake_quantize(w, c.groups == 1 ? channel_qparams(c.k, 2)
                                                  : qparams(0.02f)))
            .value();
      };
      const Net same = [](const Variable& v) { return v; };
      const Tensor y = run(same);
      const FloatGemmGuard floats;
      EXPECT_EQ(bits(y), bits(run(same)));
    }
}

// NaN has no quantized value.
TEST_P(Programs, TransposedConvolutionsPropagateNan) {
  const NoGradGuard no_grad;
  Tensor x = noise({1, 3, 4, 5}, 7);
  x.f32()[7] = std::numeric_limits<float>::quiet_NaN();
  const Variable w = fake_quantize(weight({2, 2, 3, 5}), channel_qparams(3, 2));
  const Tensor y = conv2d_transpose(fake_quantize(Variable(x), qparams(0.02f)),
                                    w, {6, 8}, {.strides = 2})
                       .value();
  EXPECT_TRUE(std::isnan(y.f32()[static_cast<size_t>((0 * 8 + 2) * 3)]));
  EXPECT_FALSE(std::isnan(y.f32()[0]));
}

}  // namespace
}  // namespace octet::programs
