#include <cmath>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>

#include "../support.h"
#include "every_isa.h"
#include "runtime/ops/row_sums.h"

namespace octet {
namespace {

TEST(LayerNorm, ComputesAHandCheckedExample) {
  // Mean 2, biased variance 2.
  const Variable x(Tensor::of<float>({1, 4}, {0, 2, 2, 4}));
  const Variable gamma(Tensor::of<float>({4}, {1, 1, 1, 3}));
  const Variable beta(Tensor::of<float>({4}, {0, 5, 0, 1}));
  const Tensor y = layer_norm(x, gamma, beta, 2).value();
  const float expected[] = {-1, 5, 0, 4};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(y.f32()[i], expected[i]);
}

TEST(LayerNorm, ResolvesASmallDeviationBesideALargeMean) {
  Rng rng(5);
  Tensor x({3, 257});
  rng.fill_normal(x, 500, 1);
  const Tensor y = layer_norm(Variable(x), {}, {}, 1e-3f).value();
  for (size_t row = 0; row < 3; ++row) {
    const auto from = std::as_const(x).f32().subspan(row * 257, 257);
    double mean = 0;
    double variance = 0;
    for (const float v : from) mean += v / 257.0;
    for (const float v : from) variance += (v - mean) * (v - mean) / 257;
    const auto to = y.f32().subspan(row * 257, 257);
    for (size_t i = 0; i < from.size(); ++i) {
      const double exact = (from[i] - mean) / std::sqrt(variance + 1e-3);
      // A few roundings of values up to 4; a mean in a single float would have
      // an error of 3e-5.
      EXPECT_NEAR(to[i], exact, 1e-6);
    }
  }
}

// Plain loops.
Tensor normalized_rows(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                       double epsilon) {
  const int64_t c = x.shape()[-1];
  Tensor y(x.shape());
  for (int64_t row = 0; row < x.size() / c; ++row) {
    const float* from = x.f32().data() + row * c;
    float* to = y.f32().data() + row * c;
    const double count = static_cast<double>(c);
    const double mean =
        row_sum(c, [=](int64_t i) { return double{from[i]}; }) / count;
    const double squares = row_sum(c, [=](int64_t i) {
      const double d = from[i] - mean;
      return d * d;
    });
    const auto high = static_cast<float>(mean);
    const auto low = static_cast<float>(mean - high);
    const auto factor =
        static_cast<float>(1 / std::sqrt(squares / count + epsilon));
    for (int64_t i = 0; i < c; ++i) {
      const auto k = static_cast<size_t>(i);
      const float scaled = ((from[i] - high) - low) * factor * gamma.f32()[k];
      to[i] = scaled + beta.f32()[k];
    }
  }
  return y;
}

class LayerNormKernels : public EveryIsa {};

TEST_P(LayerNormKernels, EqualPlainLoopsBitForBit) {
  for (const int64_t rows : {1, 3, 4, 9}) {
    for (const int64_t c : {1, 2, 7, 8, 15, 16, 17, 37, 192, 197}) {
      SCOPED_TRACE(testing::Message() << rows << "x" << c);
      Tensor x = noise({rows, c}, 3);
      for (float& v : x.f32()) v += 40;
      const Tensor gamma = noise({c}, 4), beta = noise({c}, 5);
      EXPECT_EQ(
          bits(layer_norm(Variable(x), Variable(gamma), Variable(beta), 1e-3f)
                   .value()),
          bits(normalized_rows(x, gamma, beta, 1e-3f)));
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Isa, LayerNormKernels, every_isa(), isa_name);

TEST(LayerNorm, ReturnsBetaForRowsOfEqualValues) {
  const Variable x(Tensor::full({2, 3}, 1e6f), true);
  const Variable beta(Tensor::of<float>({3}, {1, 2, 3}));
  const Variable y = layer_norm(x, {}, beta, 1e-3f);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(y.value().f32()[i], static_cast<float>(i % 3 + 1));
  }
  sum(y).backward();
  for (const float g : x.grad().f32()) EXPECT_EQ(g, 0);
}

TEST(LayerNorm, ConfinesNanToItsRow) {
  Tensor x = Tensor::zeros({2, 3});
  x.f32()[1] = NAN;
  const Tensor y = layer_norm(Variable(x), {}, {}, 1e-3f).value();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isnan(y.f32()[i]));
    EXPECT_EQ(y.f32()[3 + i], 0);
  }
}

TEST(LayerNorm, AcceptsAnEmptyBatch) {
  const Variable gamma(Tensor::full({3}, 1), true);
  const Variable y =
      layer_norm(Variable(Tensor::zeros({0, 3}), true), gamma, {}, 1e-3f);
  EXPECT_EQ(y.shape(), (Shape{0, 3}));
  sum(y).backward();
  for (const float g : gamma.grad().f32()) EXPECT_EQ(g, 0);
}

TEST(LayerNorm, RejectsParametersOfTheWrongSize) {
  const Variable x(Tensor::zeros({2, 3}));
  const Variable two(Tensor::zeros({2}));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)layer_norm(x, two, {}, 1e-3f); }),
      (Failure{"shape_mismatch", "layer_norm"}));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)layer_norm(x, {}, two, 1e-3f); }),
      (Failure{"shape_mismatch", "layer_norm"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)layer_norm(Variable(Tensor::scalar(1)), {}, {}, 1e-3f);
            }),
            (Failure{"invalid_shape", "layer_norm"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)layer_norm(Variable(Tensor::zeros({2, 0})), {}, {}, 1e-3f);
            }),
            (Failure{"invalid_shape", "layer_norm"}));
}

}  // namespace
}  // namespace octet
