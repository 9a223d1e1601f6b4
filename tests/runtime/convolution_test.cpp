// Depthwise, grouped and transposed convolutions beyond their gradients
// (tests/gradients): exact INT8 products, bit identity, errors.
#include <cstring>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "../support.h"

namespace octet {
namespace {

using Op = std::function<Variable(const Variable&, const Variable&)>;

struct Convolution {
  const char* name;
  Shape x, kernel;
  int axis;  // of the kernel's scales
  Op op;
};

std::vector<Convolution> convolutions() {
  const auto depthwise = [](const Variable& x, const Variable& w) {
    return depthwise_conv2d(x, w, {.strides{2, 1}, .pads{1, 1, 1, 1}});
  };
  const auto groups = [](int64_t count) {
    return [count](const Variable& x, const Variable& w) {
      return conv2d(x, w, {.pads{1, 1, 1, 1}}, count);
    };
  };
  return {
      {"Depthwise", {2, 5, 13, 29}, {3, 3, 29, 1}, 2, depthwise},
      {"DepthwiseTimesThree", {2, 5, 4, 7}, {3, 3, 7, 3}, 2, depthwise},
      {"Grouped", {2, 5, 4, 34}, {3, 3, 17, 6}, 3, groups(2)},
      {"GroupedByChannel", {2, 5, 4, 5}, {3, 3, 1, 10}, 3, groups(5)},
      {"Transposed",
       {2, 3, 4, 17},
       {3, 2, 19, 17},
       2,
       [](const Variable& x, const Variable& w) {
         return conv2d_transpose(x, w, {7, 8}, {.strides{2, 2}});
       }},
  };
}

Tensor normal(const Shape& shape, uint64_t seed) {
  Tensor t(shape);
  Rng(seed).fill_normal(t, 0, 1);
  return t;
}

// Quantized values as numbers.
Tensor integers(const Tensor& t, const QuantParams& qparams) {
  Tensor result(t.shape());
  const Tensor codes = quantize(t, qparams);
  for (size_t i = 0; i < result.f32().size(); ++i) {
    result.f32()[i] = codes.data<int8_t>()[i];
  }
  return result;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

class ConvolutionCodes
    : public testing::TestWithParam<std::tuple<Convolution, Isa>> {
 protected:
  ConvolutionCodes() : before_(active_isa()) {
    set_active_isa(std::get<1>(GetParam()));
  }
  ~ConvolutionCodes() override { set_active_isa(before_); }

 private:
  Isa before_;
};

// Sums of INT8 products, scaled once: floats add such integers exactly.
TEST_P(ConvolutionCodes, AreMultipliedAsIntegers) {
  const Convolution& c = std::get<0>(GetParam());
  const Tensor x = normal(c.x, 1);
  const Tensor w = normal(c.kernel, 2);
  const QuantParams xg{.scale = Tensor::scalar(absmax(x) / 127)};
  Tensor scales = absmax_per_channel(w, c.axis);
  for (float& s : scales.f32()) s /= 127;
  const QuantParams wg{.scale = scales, .axis = c.axis, .low = -127};
  const Tensor y =
      c.op(fake_quantize(Variable(x), xg), fake_quantize(Variable(w), wg))
          .value();
  const Tensor sums =
      c.op(Variable(integers(x, xg)), Variable(integers(w, wg))).value();
  ASSERT_EQ(y.shape(), sums.shape());
  const size_t channels = static_cast<size_t>(y.shape()[3]);
  const size_t copies = channels / scales.f32().size();
  for (size_t i = 0; i < y.f32().size(); ++i) {
    const float rescale = scales.f32()[i % channels / copies] * xg.scale.item();
    ASSERT_EQ(y.f32()[i], sums.f32()[i] * rescale) << i;
  }
}

TEST_P(ConvolutionCodes, AreMultipliedWithAPerTensorWeightScale) {
  const Convolution& c = std::get<0>(GetParam());
  const Tensor x = normal(c.x, 3);
  const Tensor w = normal(c.kernel, 4);
  const QuantParams xg{.scale = Tensor::scalar(0.03f)};
  const QuantParams wg{.scale = Tensor::scalar(0.02f), .low = -127};
  const Tensor y =
      c.op(fake_quantize(Variable(x), xg), fake_quantize(Variable(w), wg))
          .value();
  const Tensor sums =
      c.op(Variable(integers(x, xg)), Variable(integers(w, wg))).value();
  for (size_t i = 0; i < y.f32().size(); ++i) {
    ASSERT_EQ(y.f32()[i], sums.f32()[i] * (0.02f * 0.03f)) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, ConvolutionCodes,
                         testing::Combine(testing::ValuesIn(convolutions()),
                                          testing::ValuesIn(supported_isas())),
                         [](const auto& each) {
                           return std::string(std::get<0>(each.param).name) +
                                  "_" +
                                  std::string(
                                      to_string(std::get<1>(each.param)));
                         });

// Result and gradients of a step between pointwise ops.
std::vector<Tensor> step(const Convolution& c) {
  const Variable x(normal(c.x, 5), true);
  const Variable bias(normal({c.x[3]}, 6), true);
  const Variable w(normal(c.kernel, 7), true);
  const Variable z = c.op(relu(bias_add(x, bias)), w);
  const Shape channels{z.shape()[3]};
  Tensor mean = Tensor::zeros(channels);
  Tensor variance = Tensor::full(channels, 1);
  const Variable gamma(normal(channels, 8), true);
  const Variable beta(normal(channels, 9), true);
  const Variable y = relu(batch_norm_training(z, gamma, beta, mean.f32(),
                                              variance.f32(), 0.9f, 1e-3f));
  const Tensor dy = normal(y.shape(), 10);
  record("loss", {y}, Tensor::scalar(0), [&](const Tensor&) {
    return std::vector{dy};
  }).backward();
  return {y.value(),   mean,     variance,     x.grad(),
          bias.grad(), w.grad(), gamma.grad(), beta.grad()};
}

TEST(Convolutions, AreBitIdenticalForAnyNumberOfThreads) {
  const int before = num_threads();
  for (const Convolution& c : convolutions()) {
    set_num_threads(1);
    const std::vector<Tensor> one = step(c);
    set_num_threads(3);
    const std::vector<Tensor> three = step(c);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(same_bits(one[i], three[i])) << c.name << ", tensor " << i;
    }
  }
  set_num_threads(before);
}

// The baseline rounds once more. Without AVX-512, AVX2 is compared with itself.
TEST(Convolutions, AreBitIdenticalWithAvx2AndWider) {
  if (supported_isas().back() == Isa::baseline) return;
  const Isa before = active_isa();
  for (const Convolution& c : convolutions()) {
    set_active_isa(Isa::avx2);
    const std::vector<Tensor> narrow = step(c);
    set_active_isa(supported_isas().back());
    const std::vector<Tensor> wide = step(c);
    for (size_t i = 0; i < narrow.size(); ++i) {
      EXPECT_TRUE(same_bits(narrow[i], wide[i])) << c.name << ", tensor " << i;
    }
  }
  set_active_isa(before);
}

TEST(Convolutions, CachePackedGroupsSeparately) {
  const NoGradGuard no_grad;
  const Variable w(normal({1, 1, 2, 4}, 1));
  const Variable x(normal({1, 2, 3, 2}, 2));
  const Variable wide(normal({1, 2, 3, 4}, 3));
  const Tensor whole = conv2d(x, w).value().clone();
  const Tensor grouped = conv2d(wide, w, {}, 2).value().clone();
  EXPECT_TRUE(same_bits(conv2d(x, w).value(), whole));
  const Variable fresh(w.value().clone());
  EXPECT_TRUE(same_bits(conv2d(wide, fresh, {}, 2).value(), grouped));
}

TEST(Convolutions, AcceptAnEmptyBatch) {
  for (const Convolution& c : convolutions()) {
    const Variable y = c.op(Variable(Tensor::zeros(c.x.with(0, 0))),
                            Variable(normal(c.kernel, 1)));
    EXPECT_EQ(y.shape()[0], 0) << c.name;
  }
}

template <class E, class Body>
Failure refusal(Body body) {
  return failure_of<E>([&] { (void)body(); });
}

Variable zeros_of(const Shape& shape) { return Variable(Tensor::zeros(shape)); }

TEST(Convolutions, RejectSizesWithOverflowingSums) {
  EXPECT_EQ(refusal<ValueError>([] {
              return conv2d(zeros_of({1, 5, 5, 3}), zeros_of({3, 3, 3, 2}),
                            {.pads = {INT64_MAX, INT64_MAX, 0, 0}});
            }),
            (Failure{"out_of_range", "conv2d"}));
  EXPECT_EQ(refusal<ValueError>([] {
              return conv2d(zeros_of({1, 5, 5, 3}), zeros_of({3, 3, 3, 2}),
                            {.dilation = {INT64_MAX, 1}});
            }),
            (Failure{"out_of_range", "window"}));
}

TEST(Convolutions, RejectEmptyKernels) {
  EXPECT_EQ(refusal<ValueError>([] {
              return conv2d(zeros_of({1, 4, 4, 0}), zeros_of({3, 3, 0, 8}));
            }),
            (Failure{"out_of_range", "conv2d"}));
}

TEST(Convolutions, RejectIncompatibleShapes) {
  EXPECT_EQ(
      refusal<ShapeError>([] {
        return depthwise_conv2d(zeros_of({1, 5, 5, 3}), zeros_of({3, 3, 2, 1}));
      }),
      (Failure{"shape_mismatch", "depthwise_conv2d"}));
  EXPECT_EQ(
      refusal<ShapeError>([] {
        return depthwise_conv2d(zeros_of({1, 2, 5, 3}), zeros_of({3, 3, 3, 2}));
      }),
      (Failure{"invalid_shape", "depthwise_conv2d"}));
  EXPECT_EQ(
      refusal<ShapeError>([] {
        return conv2d(zeros_of({1, 5, 5, 6}), zeros_of({3, 3, 2, 4}), {}, 2);
      }),
      (Failure{"shape_mismatch", "conv2d"}));
  EXPECT_EQ(
      refusal<ShapeError>([] {
        return conv2d(zeros_of({1, 5, 5, 4}), zeros_of({3, 3, 2, 5}), {}, 2);
      }),
      (Failure{"invalid_shape", "conv2d"}));
  EXPECT_EQ(
      refusal<ValueError>([] {
        return conv2d(zeros_of({1, 5, 5, 4}), zeros_of({3, 3, 4, 5}), {}, 0);
      }),
      (Failure{"out_of_range", "conv2d"}));
  EXPECT_EQ(refusal<ShapeError>([] {
              return conv2d_transpose(zeros_of({1, 3, 3, 4}),
                                      zeros_of({3, 3, 5, 4}), {9, 7},
                                      {.strides{2, 2}});
            }),
            (Failure{"shape_mismatch", "conv2d_transpose"}));
  EXPECT_EQ(refusal<ValueError>([] {
              return conv2d_transpose(zeros_of({1, 3, 3, 4}),
                                      zeros_of({3, 3, 5, 4}), {0, 7});
            }),
            (Failure{"out_of_range", "conv2d_transpose"}));
}

TEST(Convolutions, RejectOverflowingSizes) {
  const Variable x = zeros_of({1, 4, 4, 3});
  const Variable kernel = zeros_of({3, 3, 3, 2});
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  for (const int64_t size : {kMost, int64_t{1} << 62, int64_t{1} << 40}) {
    SCOPED_TRACE(size);
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)conv2d(x, kernel, {.strides{size, 1}});
              }),
              (Failure{"out_of_range", "window"}));
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)conv2d(x, kernel, {.dilation{1, size}});
              }),
              (Failure{"out_of_range", "window"}));
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)conv2d(x, kernel, {.pads{size, size, 0, 0}});
              }),
              (Failure{"out_of_range", "conv2d"}));
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)depthwise_conv2d(x, kernel, {.pads{0, 0, size, 0}});
              }),
              (Failure{"out_of_range", "depthwise_conv2d"}));
  }
  constexpr int64_t kLarge = int64_t{1} << 25;
  EXPECT_EQ(refusal<ShapeError>([&] {
              return conv2d(x, kernel, {.pads{kLarge, 0, kLarge, 0}});
            }),
            (Failure{"memory_limit", "conv2d"}));
}

// Large weight gradients are computed by rows of the weight over all images.
TEST(Convolutions, SumLargeWeightGradientsOverAllImages) {
  struct Case {
    Shape x, w;
    WindowOptions options;
    int64_t groups;
  };
  const Case cases[] = {
      {{3, 5, 4, 130},
       {3, 3, 130, 240},
       {.strides{1, 2}, .pads{1, 0, 2, 1}},
       1},
      {{2, 6, 5, 260}, {3, 2, 130, 350}, {.dilation{2, 1}, .pads = 1}, 2},
      {{1, 3, 2, 600}, {1, 1, 600, 450}, {}, 1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.w.to_string());
    ASSERT_GE(c.w.size(), 1 << 18);
    const Tensor x = noise(c.x, 1);
    const Variable w(noise(c.w, 2), true);
    const Variable y = conv2d(Variable(x, true), w, c.options, c.groups);
    const Tensor g = noise(y.shape(), 3);
    sum(multiply(y, Variable(g))).backward();
    const int64_t k = c.w[3] / c.groups;
    int64_t at = 0;
    for (int64_t a = 0; a < c.w[0]; ++a)
      for (int64_t b = 0; b < c.w[1]; ++b)
        for (int64_t i = 0; i < c.w[2]; ++i)
          for (int64_t q = 0; q < c.w[3]; ++q, ++at) {
            if (at % 37 != 0) continue;
            const int64_t channel = q / k * c.w[2] + i;
            double expected = 0;
            for (int64_t n = 0; n < c.x[0]; ++n)
              for (int64_t h = 0; h < y.shape()[1]; ++h)
                for (int64_t v = 0; v < y.shape()[2]; ++v) {
                  const int64_t row = h * c.options.strides.h +
                                      a * c.options.dilation.h -
                                      c.options.pads.top;
                  const int64_t col = v * c.options.strides.w +
                                      b * c.options.dilation.w -
                                      c.options.pads.left;
                  if (row < 0 || row >= c.x[1] || col < 0 || col >= c.x[2]) {
                    continue;
                  }
                  const int64_t from =
                      ((n * c.x[1] + row) * c.x[2] + col) * c.x[3] + channel;
                  const int64_t to =
                      ((n * y.shape()[1] + h) * y.shape()[2] + v) * c.w[3] + q;
                  expected += double{x.f32()[static_cast<size_t>(from)]} *
                              double{g.f32()[static_cast<size_t>(to)]};
                }
            ASSERT_NEAR(w.grad().f32()[static_cast<size_t>(at)], expected, 1e-4)
                << at;
          }
  }
}

}  // namespace
}  // namespace octet
