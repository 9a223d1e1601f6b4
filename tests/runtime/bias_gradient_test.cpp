// Gradients of a bias before batch normalization, computed without a separate
// pass.
#include <cmath>

#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

struct Gradients {
  Tensor y, dx, dw, dbias, dgamma, dbeta;
};

enum class Statistics { batch, given };
enum class Reads { once, twice };  // consumers of the biased value

// conv2d, bias, batch normalization, ReLU; an empty bias is omitted.
Gradients run(Statistics statistics, Reads reads, bool biased) {
  constexpr int64_t kChannels = 17;
  const Shape c{kChannels};
  const Variable x(noise({3, 6, 5, 4}), true),
      w(noise({3, 3, 4, kChannels}, 2), true);
  const Variable bias(noise(c, 3), true);
  const Variable gamma(noise(c, 4), true), beta(noise(c, 5), true);
  Tensor mean = noise(c, 6), variance = Tensor::full(c, 2);
  const Variable z = conv2d(x, w, {.strides{1, 2}, .pads = 1});
  const Variable t = biased ? bias_add(z, bias) : z;
  Variable y = statistics == Statistics::batch
                   ? batch_norm_training(t, gamma, beta, mean.f32(),
                                         variance.f32(), 0.9f, 1e-3f)
                   : batch_norm(t, gamma, beta, mean, variance, 1e-3f);
  y = relu(y);
  if (reads == Reads::twice) y = add(y, t);
  sum(multiply(y, Variable(noise(y.shape(), 9)))).backward();
  return {y.value(),   x.grad(),     w.grad(),
          bias.grad(), gamma.grad(), beta.grad()};
}

TEST(BiasGradient, IsZeroBeforeSubtractionOfTheBatchMean) {
  const Gradients with = run(Statistics::batch, Reads::once, true);
  const Gradients without = run(Statistics::batch, Reads::once, false);
  for (const float g : with.dbias.f32()) EXPECT_EQ(g, 0);
  EXPECT_EQ(bits(with.dx), bits(without.dx));
  EXPECT_EQ(bits(with.dw), bits(without.dw));
  EXPECT_EQ(bits(with.dgamma), bits(without.dgamma));
  EXPECT_EQ(bits(with.dbeta), bits(without.dbeta));
}

// With given statistics, and with two consumers of the sum.
TEST(BiasGradient, IsTheSumOfTheOutputGradient) {
  for (const Reads reads : {Reads::once, Reads::twice}) {
    const Gradients got = run(Statistics::given, reads, true);
    const Tensor gamma = noise({17}, 4);
    // beta shifts the result as the bias does, scaled by gamma / sqrt(variance
    // + epsilon).
    for (size_t k = 0; k < got.dbias.f32().size(); ++k) {
      float expected = got.dbeta.f32()[k] * gamma.f32()[k] / std::sqrt(2.001f);
      if (reads == Reads::twice) {
        const Tensor dy = noise(got.y.shape(), 9);
        for (size_t i = k; i < dy.f32().size(); i += 17)
          expected += dy.f32()[i];
      }
      EXPECT_NEAR(got.dbias.f32()[k], expected, 1e-4);
    }
  }
}

TEST(BiasGradient, ComesFromTheOtherConsumerOnly) {
  const Gradients got = run(Statistics::batch, Reads::twice, true);
  const Tensor dy = noise(got.y.shape(), 9);
  for (size_t k = 0; k < 17; ++k) {
    float expected = 0;  // through the sum alone
    for (size_t i = k; i < dy.f32().size(); i += 17) expected += dy.f32()[i];
    EXPECT_NEAR(got.dbias.f32()[k], expected, 1e-4);
  }
}

TEST(BiasGradient, IsNanIfTheOutputGradientIsNan) {
  const Variable x(noise({4, 3})), bias(noise({3}, 2), true);
  Tensor mean = Tensor::zeros({3}), variance = Tensor::full({3}, 1);
  const Variable y = batch_norm_training(bias_add(x, bias), {}, {}, mean.f32(),
                                         variance.f32(), 0.9f, 1e-3f);
  Tensor dy = noise({4, 3}, 3);
  dy.f32()[1] = NAN;
  sum(multiply(y, Variable(dy))).backward();
  EXPECT_EQ(bias.grad().f32()[0], 0);
  EXPECT_TRUE(std::isnan(bias.grad().f32()[1]));
}

}  // namespace
}  // namespace octet
