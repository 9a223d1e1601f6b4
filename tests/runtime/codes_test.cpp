// INT8 products of linear ops, on every instruction set, against exact integer
// sums and against the same values multiplied as floats.
#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "../support.h"
#include "every_isa.h"
#include "random_codes.h"

namespace octet {
namespace {

class Codes : public EveryIsa {};

QuantParams codes_from(int low, int high) {
  return {.scale = Tensor::scalar(0.5f), .low = low, .high = high};
}
QuantParams bytes() { return codes_from(-128, 127); }

// Quantization of activations: signed, unsigned, and with zero points of uint8
// (equivalently int8).
std::vector<QuantParams> activation_qparams() {
  return {bytes(),
          codes_from(0, 255),
          codes_from(0, 127),
          codes_from(0, 15),
          codes_from(-255, 0),
          codes_from(-129, 126),
          codes_from(-77, 178)};
}

std::string range_of(const QuantParams& qparams) {
  return " codes " + std::to_string(qparams.low) + ".." +
         std::to_string(qparams.high);
}

Tensor random_codes(const Shape& shape, uint64_t seed) {
  return random_codes(shape, seed, bytes());
}

Variable rounded_to(const Tensor& t, bool trained = false,
                    const QuantParams& qparams = bytes()) {
  return fake_quantize(Variable(t, trained), qparams);
}

// Exact integer sums, scaled once.
Tensor convolution_of_codes(const Tensor& x, const Tensor& w,
                            const WindowOptions& o, int64_t groups) {
  const Shape& k = w.shape();
  const int64_t oh = window_positions(x.shape()[1], k[0], o.strides.h,
                                      o.dilation.h, o.pads.top + o.pads.bottom);
  const int64_t ow = window_positions(x.shape()[2], k[1], o.strides.w,
                                      o.dilation.w, o.pads.left + o.pads.right);
  Tensor y({x.shape()[0], oh, ow, k[3]});
  const auto at = [](const Tensor& t, int64_t a, int64_t b, int64_t c,
                     int64_t d) {
    const Shape& s = t.shape();
    return static_cast<int64_t>(
        2 *
        t.f32()[static_cast<size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d)]);
  };
  float* to = y.f32().data();
  for (int64_t n = 0; n < x.shape()[0]; ++n)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j)
        for (int64_t q = 0; q < k[3]; ++q) {
          int64_t sum = 0;
          const int64_t first = q / (k[3] / groups) * k[2];
          for (int64_t a = 0; a < k[0]; ++a)
            for (int64_t b = 0; b < k[1]; ++b) {
              const int64_t h = i * o.strides.h + a * o.dilation.h - o.pads.top;
              const int64_t v =
                  j * o.strides.w + b * o.dilation.w - o.pads.left;
              if (h < 0 || h >= x.shape()[1] || v < 0 || v >= x.shape()[2]) {
                continue;
              }
              for (int64_t c = 0; c < k[2]; ++c) {
                sum += at(x, n, h, v, first + c) * at(w, a, b, c, q);
              }
            }
          *to++ = static_cast<float>(sum) * 0.25f;
        }
  return y;
}

void expect_same_bits(const Tensor& a, const Tensor& b,
                      const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())), 0)
      << what;
}

struct Case {
  Shape x, w;
  WindowOptions options = {};
  int64_t groups = 1;
};

const Case kCases[] = {
    {{2, 5, 4, 1}, {3, 3, 1, 16}},
    {{1, 7, 6, 3}, {3, 2, 3, 17}, {.pads{1, 2, 0, 1}}},
    {{2, 6, 31, 4}, {3, 3, 4, 5}, {.strides{2, 1}, .pads{1, 1, 1, 1}}},
    {{3, 9, 8, 17}, {1, 1, 17, 33}, {.strides{2, 3}}},
    {{1, 30, 29, 8}, {3, 3, 8, 1}, {.pads{1, 1, 1, 1}}},
    {{1, 8, 9, 5}, {2, 3, 5, 40}, {.dilation{2, 3}}},
    {{2, 7, 7, 66}, {3, 3, 66, 48}, {.pads{1, 1, 1, 1}}},
    {{1, 5, 6, 8}, {3, 3, 4, 6}, {.pads{1, 1, 1, 1}}, 2},
    {{1, 5, 6, 12}, {3, 3, 4, 36}, {}, 3},
    {{2, 4, 5, 6}, {1, 3, 3, 4}, {.strides{1, 2}}, 2},
    {{1, 5, 37, 68}, {1, 1, 68, 50}},
    {{1, 3, 16, 72}, {3, 1, 72, 16}},
};

TEST_P(Codes, ConvolutionsMatchIntegerArithmetic) {
  for (const QuantParams& qparams : activation_qparams())
    for (const Case& c : kCases) {
      const std::string what =
          c.x.to_string() + " * " + c.w.to_string() + range_of(qparams);
      const Tensor x = random_codes(c.x, 1, qparams);
      const Tensor w = random_codes(c.w, 2);
      const auto run = [&] {
        return conv2d(rounded_to(x, false, qparams), rounded_to(w), c.options,
                      c.groups)
            .value();
      };
      const Tensor y = run();
      expect_same_bits(y, convolution_of_codes(x, w, c.options, c.groups),
                       what);
      const FloatGemmGuard guard;
      expect_same_bits(y, run(), what);
    }
}

// A kernel [kh,kw,c,1] viewed with a group per channel is depthwise.
const Case kDepthwiseCases[] = {
    {{2, 5, 4, 1}, {3, 3, 1, 1}, {.pads{1, 1, 1, 1}}},
    {{1, 7, 6, 3}, {3, 2, 1, 3}, {.pads{1, 2, 0, 1}}},
    {{2, 6, 31, 4}, {3, 3, 1, 4}, {.strides{2, 1}, .pads{1, 1, 1, 1}}},
    {{3, 9, 8, 17}, {3, 3, 1, 17}, {.strides{2, 2}, .pads{0, 1, 0, 1}}},
    {{1, 8, 19, 24}, {5, 5, 1, 24}, {.pads{2, 2, 2, 2}}},
    {{1, 11, 9, 37}, {5, 5, 1, 37}, {.strides{2, 2}, .pads{2, 2, 1, 2}}},
    {{2, 9, 12, 6}, {3, 3, 1, 6}, {.dilation{2, 3}, .pads{2, 2, 3, 3}}},
    {{1, 7, 7, 66}, {3, 3, 1, 66}, {.pads{1, 1, 1, 1}}},
    {{2, 1, 40, 18}, {1, 7, 1, 18}, {.pads{0, 0, 3, 3}}},
    {{1, 4, 5, 20}, {1, 1, 1, 20}},
    {{1, 9, 8, 34}, {7, 1, 1, 34}, {.strides{1, 2}, .pads{3, 3, 0, 0}}},
    {{1, 3, 90, 2}, {3, 3, 1, 2}, {.dilation{1, 30}, .pads{1, 1, 30, 30}}},
    {{1, 3, 17, 16}, {3, 3, 1, 16}, {.strides{1, 4}}},
};

TEST_P(Codes, DepthwiseConvolutionsMatchIntegerArithmetic) {
  for (const QuantParams& qparams : activation_qparams())
    for (const Case& c : kDepthwiseCases) {
      const std::string what =
          c.x.to_string() + " * " + c.w.to_string() + range_of(qparams);
      const Tensor x = random_codes(c.x, 1, qparams);
      const Tensor w = random_codes(c.w, 2);
      const int64_t channels = c.x[3];
      const Tensor as_kernel = w.reshaped({c.w[0], c.w[1], channels, 1});
      // Statistics are computed if gradients are recorded.
      for (const bool trained : {false, true}) {
        const auto run = [&] {
          return depthwise_conv2d(rounded_to(x, trained, qparams),
                                  rounded_to(as_kernel), c.options);
        };
        const Variable y = run();
        expect_same_bits(y.value(),
                         convolution_of_codes(x, w, c.options, channels), what);
        const FloatGemmGuard guard;
        const Variable in_floats = run();
        expect_same_bits(y.value(), in_floats.value(), what);
      }
    }
}

TEST_P(Codes, DepthwiseConvolutionsDoNotSaturate) {
  for (const QuantParams& qparams : activation_qparams())
    for (const int code : {qparams.low, qparams.high})
      for (const float b : {-64.0f, 63.5f}) {
        const float a = static_cast<float>(code) * 0.5f;
        const Tensor x = Tensor::full({1, 9, 9, 21}, a);
        const Tensor w = Tensor::full({9, 9, 21, 1}, b);
        const Tensor y =
            depthwise_conv2d(rounded_to(x, false, qparams), rounded_to(w))
                .value();
        for (const float v : y.f32()) EXPECT_EQ(v, 81 * 4 * a * b * 0.25f);
      }
}

// A scale whose multiples are rounded: sums of floats differ from integer sums.
TEST_P(Codes, ArePreservedByZeroPadding) {
  const QuantParams tenths{.scale = Tensor::scalar(0.1f)};
  for (const Case& c : kCases) {
    const Pads pads = c.options.pads;
    WindowOptions inside = c.options;
    inside.pads = {};
    const Variable w = fake_quantize(Variable(random_codes(c.w, 2)), tenths);
    const Variable x(random_codes(c.x, 1), true);
    const Variable around =
        conv2d(pad2d(fake_quantize(x, tenths), pads), w, inside, c.groups);
    sum(around).backward();
    const Variable z(x.value().clone(), true);
    const Variable y = conv2d(fake_quantize(z, tenths), w, c.options, c.groups);
    sum(y).backward();
    expect_same_bits(around.value(), y.value(), c.x.to_string());
    for (size_t i = 0; i < x.grad().f32().size(); ++i) {
      EXPECT_NEAR(x.grad().f32()[i], z.grad().f32()[i], 1e-3);
    }
  }
}

// Sums of two or four products of the largest values exceed 16 bits.
TEST_P(Codes, DoNotSaturate) {
  for (const QuantParams& qparams : activation_qparams())
    for (const int code : {qparams.low, qparams.high})
      for (const float b : {-64.0f, 63.5f}) {
        const float a = static_cast<float>(code) * 0.5f;
        const Tensor x = Tensor::full({3, 700}, a);
        const Tensor w = Tensor::full({700, 35}, b);
        const Tensor y =
            dense(rounded_to(x, false, qparams), rounded_to(w)).value();
        const float sum = static_cast<float>(4 * a * b * 700) * 0.25f;
        for (const float v : y.f32()) EXPECT_EQ(v, sum);
      }
}

TEST_P(Codes, SumsExceedTheExactRangeOfFloats) {
  for (const int64_t depth : {2'001, 100'001}) {
    const Tensor x = Tensor::full({1, depth}, 63.5f);
    const Tensor w = Tensor::full({depth, 2}, 63.5f);
    const Tensor y = dense(rounded_to(x), rounded_to(w)).value();
    EXPECT_EQ(y.f32()[1], static_cast<float>(127 * 127 * depth) * 0.25f);
  }
}

TEST_P(Codes, DenseLayersMatchConvolutions) {
  for (const int64_t rows : {1, 3, 64, 65}) {
    const Tensor x = random_codes({rows, 1, 1, 131}, 3);
    const Tensor w = random_codes({1, 1, 131, 19}, 4);
    const Tensor y = dense(rounded_to(x.reshaped({rows, 131})),
                           rounded_to(w.reshaped({131, 19})))
                         .value();
    expect_same_bits(y.reshaped({rows, 1, 1, 19}),
                     convolution_of_codes(x, w, {}, 1),
                     std::to_string(rows) + " rows");
  }
}

// The cache of packed weights distinguishes quantization parameters of
// activations.
TEST_P(Codes, OneWeightServesSeveralActivationRanges) {
  const NoGradGuard no_grad;
  const Variable w(random_codes({3, 3, 5, 20}, 16));
  const auto both = [&](const QuantParams& qparams) {
    const Tensor x = random_codes({1, 6, 7, 5}, 17, qparams);
    const Variable kernel = fake_quantize(w, bytes());
    expect_same_bits(conv2d(rounded_to(x, false, qparams), kernel).value(),
                     convolution_of_codes(x, w.value(), {}, 1),
                     range_of(qparams));
  };
  for (int round = 0; round < 2; ++round) {
    for (const QuantParams& qparams : activation_qparams()) both(qparams);
  }
}

// Expressions of one and two terms before quantization, their sums after.
TEST_P(Codes, ExpressionsMatchFloatProductsBitwise) {
  Rng rng(5);
  for (const int64_t c : {1, 3, 4, 17, 36}) {
    Tensor a({3, 6, 5, c}), b({3, 6, 5, c}), gamma({c}), beta({c});
    for (Tensor* t : {&a, &b}) rng.fill_normal(*t, 0, 30);
    for (Tensor* t : {&gamma, &beta}) rng.fill_normal(*t, 1, 1);
    const Tensor w = random_codes({3, 3, c, 18}, 6);
    const auto run = [&](bool two) {
      Variable x = relu(bias_add(multiply(Variable(a, true), Variable(gamma)),
                                 Variable(beta)));
      if (two) x = relu(add(x, fake_quantize(Variable(b, true), bytes())));
      const Variable k(w, true);
      const Variable y =
          conv2d(fake_quantize(x, bytes()), fake_quantize(k, bytes()));
      sum(y).backward();
      return std::pair(y.value(), k.grad());
    };
    for (const bool two : {false, true}) {
      const std::string what = std::to_string(c) + (two ? " twice" : " once");
      const auto [y, dw] = run(two);
      const FloatGemmGuard guard;
      const auto [float_y, float_dw] = run(two);
      expect_same_bits(y, float_y, what);
      expect_same_bits(dw, float_dw, what);
    }
  }
}

TEST_P(Codes, NanInputsReachTheOutput) {
  Tensor x = random_codes({2, 4, 4, 5}, 7);
  x.f32()[100] = NAN;  // second image
  const Tensor w = random_codes({3, 3, 5, 20}, 8);
  const Tensor y =
      conv2d(rounded_to(x), rounded_to(w), {.pads{1, 1, 1, 1}}).value();
  const int64_t half = y.size() / 2;
  int64_t found = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    const bool nan = std::isnan(y.f32()[static_cast<size_t>(i)]);
    EXPECT_FALSE(nan && i < half);
    found += nan ? 1 : 0;
  }
  EXPECT_GT(found, 0);
  const Tensor w1 = Tensor::full({22, 1}, 1);
  for (int64_t i = 0; i < 22; ++i) {  // in whole vectors and remainders
    Tensor row = Tensor::full({1, 22}, 1);
    row.f32()[static_cast<size_t>(i)] = NAN;
    EXPECT_TRUE(
        std::isnan(dense(rounded_to(row), rounded_to(w1)).value().item()));
  }
}

TEST_P(Codes, NanWeightsReachTheOutput) {
  Tensor w = random_codes({40, 3}, 11);
  w.f32()[0] = NAN;
  const Variable x = rounded_to(random_codes({2, 40}, 12));
  const Tensor y = dense(x, rounded_to(w)).value();
  for (int64_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::isnan(y.f32()[static_cast<size_t>(i)]), i % 3 == 0) << i;
  }
}

// Bands that contain only padding.
TEST_P(Codes, RowsOutsideTheImageAreZero) {
  const int threads = num_threads();
  set_num_threads(4);
  const NoGradGuard no_grad;
  const Tensor x = random_codes({1, 1, 1, 500}, 13);
  const Tensor w = random_codes({1, 1, 500, 3}, 14);
  const WindowOptions o{.pads{3, 2, 64, 5}};
  expect_same_bits(conv2d(rounded_to(x), rounded_to(w), o).value(),
                   convolution_of_codes(x, w, o, 1), "padding");
  set_num_threads(threads);
}

// Consumers share a leaf's packed weights; packing uses threads that may be
// waiting for it.
TEST_P(Codes, ArePackedBySeveralThreadsAtOnce) {
  const int threads = num_threads();
  set_num_threads(2);
  const Tensor x = random_codes({1, 6, 6, 64}, 15);
  const Tensor scale = Tensor::full({96}, 0.5f);
  for (uint64_t round = 0; round < 20; ++round) {
    const Variable w(random_codes({3, 3, 64, 96}, round));
    const auto run = [&] {
      const NoGradGuard no_grad;
      return conv2d(rounded_to(x),
                    fake_quantize(w, {.scale = scale, .axis = -1}))
          .value();
    };
    Tensor other;
    std::thread reader([&] { other = run(); });
    std::vector<Tensor> results(8);
    parallel_for(8,
                 [&](int64_t i) { results[static_cast<size_t>(i)] = run(); });
    reader.join();
    for (const Tensor& y : results) expect_same_bits(y, other, "threads");
  }
  set_num_threads(threads);
}

// Quantization divides only near ties.
TEST_P(Codes, RoundLikeDivision) {
  Rng rng(10);
  constexpr float kLimit = std::numeric_limits<float>::max();
  for (const float scale :
       {0.5f, 0.1f, 1.0f / 3, 0.0123f, 7e-5f, 1e-38f, 1e-42f, 3e30f, 1e38f}) {
    std::vector<float> values;
    for (int i = -300; i <= 300; ++i) {
      const float v = static_cast<float>(i) * 0.5f * scale;
      values.insert(values.end(),
                    {v, std::nextafter(v, -kLimit), std::nextafter(v, kLimit)});
    }
    Tensor t = Tensor::of<float>({1, 1, 601, 3}, values);
    for (const float v : {INFINITY, -INFINITY, 0.0f, -0.0f, kLimit, 1e-45f}) {
      t.f32()[rng.next() % 1803] = v;
    }
    const QuantParams qparams{.scale = Tensor::scalar(scale)};
    const Tensor y = fake_quantize(Variable(t), qparams).value();
    for (size_t i = 0; i < t.f32().size(); ++i) {
      const float code = std::nearbyint(
          std::min(std::max(t.f32()[i] / scale, -128.0f), 127.0f));
      EXPECT_EQ(y.f32()[i], code * scale) << t.f32()[i] << " by " << scale;
    }
  }
}

// Ties round to even for any byte of 0, in evaluation and in the epilogue.
TEST_P(Codes, RoundTiesToEvenForEveryRange) {
  const NoGradGuard no_grad;
  const auto ones = [](const Shape& shape) {
    return rounded_to(Tensor::full(shape, 0.5f));
  };
  for (int zero_point = 0; zero_point <= 255; ++zero_point) {
    const QuantParams qparams = codes_from(-zero_point, 255 - zero_point);
    const std::string what = range_of(qparams);
    Tensor x({1, 5, 41, 3});
    for (int64_t i = 0; i < x.size(); ++i) {
      x.f32()[static_cast<size_t>(i)] =
          0.25f * static_cast<float>(i - 2 * zero_point - 10);
    }
    const Tensor y = fake_quantize(Variable(x), qparams).value();
    for (size_t i = 0; i < y.f32().size(); ++i) {
      const float code = std::nearbyint(
          std::clamp(x.f32()[i] / 0.5f, static_cast<float>(qparams.low),
                     static_cast<float>(qparams.high)));
      ASSERT_EQ(y.f32()[i], code * 0.5f) << x.f32()[i] << what;
    }
    // Kernels of quantized value 1 (0.5) halve their inputs.
    const Variable codes = fake_quantize(Variable(x), qparams);
    const Tensor copied = depthwise_conv2d(codes, ones({1, 1, 3, 1})).value();
    Tensor unit = Tensor::zeros({3, 3});
    for (const size_t i : {0, 4, 8}) unit.f32()[i] = 0.5f;
    const Tensor dense_copy =
        dense(reshape(codes, {205, 3}), rounded_to(unit)).value();
    for (size_t i = 0; i < y.f32().size(); ++i) {
      ASSERT_EQ(copied.f32()[i], 0.5f * y.f32()[i]) << x.f32()[i] << what;
      ASSERT_EQ(dense_copy.f32()[i], 0.5f * y.f32()[i]) << x.f32()[i] << what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryInstructionSet, Codes, every_isa(), isa_name);

}  // namespace
}  // namespace octet
