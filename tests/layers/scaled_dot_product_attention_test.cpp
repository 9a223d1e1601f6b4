#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Options = ScaledDotProductAttentionOptions;

Tensor attend(const Options& options, const Tensor& q, const Tensor& k,
              const Tensor& v) {
  std::vector<SymbolicTensor> x;
  std::vector<Variable> values;
  for (const Tensor& t : {q, k, v}) {
    x.push_back(input(t.shape().slice(1, 3)));
    values.emplace_back(t);
  }
  const Model model(x, {ScaledDotProductAttention(options)(x)});
  const NoGradGuard no_grad;
  return model(values)[0].value();
}

// The definition, in doubles.
void expect_definition(int64_t n, int64_t heads, int64_t tq, int64_t tk,
                       int64_t d, int64_t dv) {
  const Tensor q = noise({n, tq, heads * d}, 1);
  const Tensor k = noise({n, tk, heads * d}, 2);
  const Tensor v = noise({n, tk, heads * dv}, 3);
  const Tensor y = attend({.num_heads = heads}, q, k, v);
  ASSERT_EQ(y.shape(), (Shape{n, tq, heads * dv}));
  const auto at = [heads](const Tensor& t, int64_t i, int64_t token, int64_t h,
                          int64_t c) {
    const int64_t width = t.shape()[2];
    return double{t.f32()[static_cast<size_t>(
        (i * t.shape()[1] + token) * width + h * (width / heads) + c)]};
  };
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t a = 0; a < tq; ++a) {
        std::vector<double> weights;
        double sum = 0;
        for (int64_t b = 0; b < tk; ++b) {
          double score = 0;
          for (int64_t c = 0; c < d; ++c) {
            score += at(q, i, a, h, c) * at(k, i, b, h, c);
          }
          weights.push_back(
              std::exp(score / std::sqrt(static_cast<double>(d))));
          sum += weights.back();
        }
        for (int64_t c = 0; c < dv; ++c) {
          double expected = 0;
          for (int64_t b = 0; b < tk; ++b) {
            expected +=
                weights[static_cast<size_t>(b)] / sum * at(v, i, b, h, c);
          }
          // Means of values below 1, after tens of roundings.
          EXPECT_NEAR(at(y, i, a, h, c), expected, 1e-6);
        }
      }
    }
  }
}

TEST(ScaledDotProductAttention, FollowsItsDefinition) {
  expect_definition(1, 1, 1, 1, 1, 1);
  expect_definition(2, 3, 5, 7, 4, 2);
  expect_definition(1, 2, 17, 3, 1, 5);
  expect_definition(3, 1, 2, 65, 17, 3);
}

// Queries see the keys up to their position: a prefix of the sequence alone.
TEST(ScaledDotProductAttention, HidesLaterKeysIfCausal) {
  const Options options{.num_heads = 2, .causal = true};
  const Tensor q = noise({1, 4, 4}, 1), k = noise({1, 3, 4}, 2),
               v = noise({1, 3, 6}, 3);
  const Tensor y = attend(options, q, k, v);
  const auto prefix = [](const Tensor& x, int64_t count) {
    return x.reshaped({x.shape()[1], x.shape()[2]})
        .slice(0, count)
        .reshaped({1, count, x.shape()[2]});
  };
  for (int64_t query = 0; query < 4; ++query) {
    const int64_t keys = std::min<int64_t>(query + 1, 3);
    const Tensor alone = attend({.num_heads = 2}, prefix(q, query + 1),
                                prefix(k, keys), prefix(v, keys));
    for (int64_t c = 0; c < 6; ++c) {
      const auto at = static_cast<size_t>(query * 6 + c);
      EXPECT_NEAR(y.f32()[at], alone.f32()[at], 1e-6);
    }
  }
  for (const float value : y.f32()) EXPECT_TRUE(std::isfinite(value));
}

TEST(ScaledDotProductAttention, AveragesTheValuesForEqualKeys) {
  const Tensor y = attend({.num_heads = 2}, Tensor::zeros({1, 2, 4}),
                          noise({1, 3, 4}), integers({1, 3, 2}, 1));
  // Values -6..-1: columns -6, -4, -2 and -5, -3, -1.
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(y.f32()[i], i % 2 == 0 ? -4 : -3, 1e-6);
  }
}

TEST(ScaledDotProductAttention, ForwardsASingleToken) {
  const Tensor v = noise({2, 1, 6});
  EXPECT_EQ(values(attend({.num_heads = 3}, noise({2, 1, 6}, 2),
                          noise({2, 1, 6}, 3), v)),
            values(v));
}

TEST(ScaledDotProductAttention, ComputesTheGradientsOfAllInputs) {
  const auto x = std::vector{input({3, 4}), input({5, 4}), input({5, 6})};
  const Model model(x, {ScaledDotProductAttention({.num_heads = 2})(x)});
  std::vector<Variable> at{Variable(noise({2, 3, 4}, 1), true),
                           Variable(noise({2, 5, 4}, 2), true),
                           Variable(noise({2, 5, 6}, 3), true)};
  const Tensor weights = noise({2, 3, 6}, 4);
  const auto loss = [&](const Variable& y) {
    double sum = 0;
    for (size_t i = 0; i < 36; ++i) {
      sum += double{y.value().f32()[i]} * weights.f32()[i];
    }
    return sum;
  };
  const Variable y = model(at)[0];
  record("loss", {y}, Tensor::scalar(0), [weights](const Tensor&) {
    return std::vector{weights};
  }).backward();
  for (size_t k = 0; k < 3; ++k) {
    // Along the gradient, the loss increases by the gradient's squared norm.
    const Tensor gradient = at[k].grad();
    double expected = 0;
    for (const float g : gradient.f32()) expected += double{g} * g;
    const auto moved = [&](float step) {
      const NoGradGuard no_grad;
      std::vector<Variable> near = at;
      Tensor t = at[k].value().clone();
      for (size_t i = 0; i < t.f32().size(); ++i) {
        t.f32()[i] += step * gradient.f32()[i];
      }
      near[k] = Variable(t);
      return loss(model(near)[0]);
    };
    const double numeric = (moved(0.01f) - moved(-0.01f)) / 0.02;
    // Difference of float results, 1e-6 / 0.02, and a cubic term.
    EXPECT_NEAR(numeric, expected, 1e-3 * (expected + 0.1)) << "input " << k;
  }
}

TEST(ScaledDotProductAttention, DropsWeightsInTrainingOnly) {
  const Options options{.num_heads = 1, .dropout = 0.5f};
  const auto x = std::vector{input({4, 2}), input({4, 2}), input({4, 2})};
  Model model(x, {ScaledDotProductAttention(options)(x)});
  const std::vector<Variable> ones(3, Variable(Tensor::full({8, 4, 2}, 1)));
  for (const float v : values(model(ones)[0])) {
    EXPECT_NEAR(v, 1, 1e-6);
  }
  // Each weight is 1/4, doubled or dropped: multiples of 1/2.
  bool changed = false;
  for (const float v : values(model(ones, Mode::training)[0])) {
    EXPECT_NEAR(2 * v, std::round(2 * v), 1e-5);
    changed = changed || std::fabs(v - 1) > 0.1f;
  }
  EXPECT_TRUE(changed);
}

TEST(ScaledDotProductAttention, CountsItsMultiplyAdds) {
  const std::vector<Shape> shapes{{Shape::kAnySize, 3, 4},
                                  {Shape::kAnySize, 5, 4},
                                  {Shape::kAnySize, 5, 6}};
  EXPECT_EQ(
      ScaledDotProductAttention({.num_heads = 2})->facts(shapes).multiply_adds,
      3 * 5 * 4 + 3 * 5 * 6);
}

TEST(ScaledDotProductAttention, ErrorsNameTheInputAtFault) {
  const auto failure = [](const Shape& q, const Shape& k, const Shape& v) {
    return failure_of<ShapeError>([&] {
      (void)ScaledDotProductAttention({.num_heads = 2, .name = "look"})(
          {input(q), input(k), input(v)});
    });
  };
  EXPECT_EQ(failure({3, 4}, {5, 4}, {6, 4}),
            (Failure{"shape_mismatch", "value"}));
  EXPECT_EQ(failure({3, 4}, {5, 6}, {5, 4}),
            (Failure{"shape_mismatch", "key"}));
  EXPECT_EQ(failure({3, 5}, {5, 5}, {5, 4}),
            (Failure{"invalid_shape", "query"}));
  EXPECT_EQ(failure({3, 4}, {5, 4}, {5, 3}),
            (Failure{"invalid_shape", "value"}));
  EXPECT_EQ(failure({3, 4}, {5, 4, 1}, {5, 4}),
            (Failure{"invalid_shape", "key"}));
}

TEST(ScaledDotProductAttention, RejectsWrongInputCountsAndInvalidOptions) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)ScaledDotProductAttention()(input({3, 4}));
            }),
            (Failure{"count_mismatch", "inputs"}));
  EXPECT_THROW((void)ScaledDotProductAttention({.num_heads = 0}), ValueError);
  EXPECT_THROW((void)ScaledDotProductAttention({.dropout = 1}), ValueError);
  EXPECT_THROW((void)ScaledDotProductAttention({.dropout = NAN}), ValueError);
}

}  // namespace
}  // namespace octet
