// Convolutions and products of the reference executor above its block sizes,
// against plain sums.
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_run.h"

namespace octet::io {
namespace {

// Values from -range to range, reproducible.
int next(uint32_t& state, int range) {
  state = state * 1664525 + 1013904223;
  return static_cast<int>((state >> 8) % static_cast<uint32_t>(2 * range + 1)) -
         range;
}

template <class T>
Tensor filled(const Shape& shape, int range, uint32_t state, int add = 0) {
  Tensor x(shape, DTypeOf<T>::value);
  for (T& value : x.data<T>()) {
    value = static_cast<T>(next(state, range) + add);
  }
  return x;
}

struct Case {
  int64_t c, h, w, oc, kh, kw, stride, dilation, before, after, groups;
};

// Integers, so that any order of the sums gives the same bits.
std::vector<float> plain_sums(const Case& g, const Tensor& x, const Tensor& w,
                              const Tensor& bias, int64_t oh, int64_t ow) {
  const int64_t depth = g.c / g.groups, per_group = g.oc / g.groups;
  std::vector<float> y;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t oc = 0; oc < g.oc; ++oc) {
      for (int64_t i = 0; i < oh * ow; ++i) {
        float sum = bias.f32()[static_cast<size_t>(oc)];
        for (int64_t k = 0; k < depth * g.kh * g.kw; ++k) {
          const int64_t c = oc / per_group * depth + k / (g.kh * g.kw);
          const int64_t row =
              i / ow * g.stride - g.before + k / g.kw % g.kh * g.dilation;
          const int64_t column =
              i % ow * g.stride - g.before + k % g.kw * g.dilation;
          if (row < 0 || row >= g.h || column < 0 || column >= g.w) continue;
          const int64_t at = ((n * g.c + c) * g.h + row) * g.w + column;
          sum += x.f32()[static_cast<size_t>(at)] *
                 w.f32()[static_cast<size_t>(oc * depth * g.kh * g.kw + k)];
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

TEST(OnnxProduct, BlockedConvolutionsMatchPlainSums) {
  for (const Case& g : {Case{3, 40, 37, 150, 3, 3, 1, 1, 1, 1, 1},
                        Case{64, 9, 11, 131, 3, 5, 2, 1, 2, 1, 1},
                        Case{12, 33, 30, 24, 3, 3, 1, 2, 2, 2, 4},
                        Case{20, 31, 29, 20, 5, 3, 2, 1, 1, 2, 20},
                        Case{300, 23, 25, 130, 1, 1, 1, 1, 0, 0, 1},
                        Case{8, 5, 700, 4, 2, 9, 3, 3, 0, 7, 2},
                        Case{2, 3, 3, 2, 3, 3, 1, 1, 2, 2, 1}}) {
    const int64_t oh =
        (g.h + g.before + g.after - (g.kh - 1) * g.dilation - 1) / g.stride + 1;
    const int64_t ow =
        (g.w + g.before + g.after - (g.kw - 1) * g.dilation - 1) / g.stride + 1;
    const Tensor x = filled<float>(Shape{2, g.c, g.h, g.w}, 9, 1);
    const Tensor w =
        filled<float>(Shape{g.oc, g.c / g.groups, g.kh, g.kw}, 9, 2);
    const Tensor bias = filled<float>(Shape{g.oc}, 99, 3);
    const OnnxReference model = to_run(
        "(float[N,C,H,W] x, float[O,D,K,L] w, float[O] b) => (float[N,O,P,Q] "
        "y)",
        fmt::format("y = Conv<group={}, strides=[{},{}], dilations=[{},{}], "
                    "pads=[{},{},{},{}]>(x, w, b)",
                    g.groups, g.stride, g.stride, g.dilation, g.dilation,
                    g.before, g.before, g.after, g.after));
    const std::vector<Tensor> y =
        model.predict(std::vector<Tensor>{x, w, bias});
    ASSERT_EQ(y[0].shape(), (Shape{2, g.oc, oh, ow}));
    EXPECT_EQ(values_of(y[0]), plain_sums(g, x, w, bias, oh, ow))
        << g.oc << " outputs of " << g.c;
  }
}

TEST(OnnxProduct, BlockedMatricesMatchPlainSums) {
  const int64_t batch = 2, m = 131, k = 515, n = 530;
  const Tensor a = filled<float>(Shape{batch, m, k}, 5, 1);
  const Tensor b = filled<float>(Shape{k, n}, 5, 2);
  const OnnxReference model = to_run(
      "(float[N,M,K] a, float[K,L] b) => (float[N,M,L] y)", "y = MatMul(a, b)");
  const std::vector<Tensor> y = model.predict(std::vector<Tensor>{a, b});
  std::vector<float> expected;
  for (int64_t r = 0; r < batch * m; ++r) {
    for (int64_t c = 0; c < n; ++c) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        sum += a.f32()[static_cast<size_t>(r * k + i)] *
               b.f32()[static_cast<size_t>(i * n + c)];
      }
      expected.push_back(sum);
    }
  }
  EXPECT_EQ(values_of(y[0]), expected);
}

// Floats are exact below 2^24; these values are up to 2^26.
TEST(OnnxProduct, LargeIntegerSumsAreExact) {
  const int64_t k = 1000;
  const Tensor a = filled<uint8_t>(Shape{3, k}, 2, 1, 253);
  const Tensor b = filled<uint8_t>(Shape{k, 5}, 2, 2, 253);
  const OnnxReference product =
      to_run("(uint8[M,K] a, uint8[K,L] b) => (int32[M,L] y)",
             "y = MatMulInteger(a, b)", 10);
  const OnnxReference convolution =
      to_run("(uint8[N,K,P,Q] a, uint8[L,K,P,Q] b) => (int32[N,L,P,Q] y)",
             "y = ConvInteger(a, b)", 10);
  const auto y = product.predict(std::vector<Tensor>{a, b});
  Tensor turned(Shape{5, k, 1, 1}, DType::u8);
  for (size_t i = 0; i < 5 * k; ++i) {
    turned.data<uint8_t>()[i % 5 * k + i / 5] = b.data<uint8_t>()[i];
  }
  const auto z = convolution.predict(
      std::vector<Tensor>{a.reshaped(Shape{3, k, 1, 1}), turned});
  for (size_t i = 0; i < 15; ++i) {
    int32_t sum = 0;
    for (size_t c = 0; c < k; ++c) {
      sum +=
          a.data<uint8_t>()[i / 5 * k + c] * b.data<uint8_t>()[c * 5 + i % 5];
    }
    EXPECT_GT(sum, 1 << 25);
    EXPECT_EQ(y[0].data<int32_t>()[i], sum);
    EXPECT_EQ(z[0].data<int32_t>()[i], sum);
  }
}

TEST(OnnxProduct, LargeIntegersWrapAround) {
  const OnnxReference model = to_run(
      "(int32[M,K] a, int32[K,L] b) => (int32[M,L] y)", "y = MatMul(a, b)");
  const Tensor a = Tensor::of<int32_t>(Shape{1, 2}, {65537, 3});
  const Tensor b = Tensor::of<int32_t>(Shape{2, 1}, {65536, 5});
  const auto y = model.predict(std::vector<Tensor>{a, b});
  EXPECT_EQ(y[0].data<int32_t>()[0], 65536 + 15);
}

}  // namespace
}  // namespace octet::io
