#include <cmath>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>

#include "../support.h"

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
