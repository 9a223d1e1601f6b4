#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/loss.h>

#include "../support.h"

namespace octet::train {
namespace {

const Tensor kOutputs = Tensor::of<float>({2, 3}, {1, -2, 0.5f, 0, 3, -1});
const Tensor kSoftTargets =
    Tensor::of<float>({2, 3}, {0.2f, 0.3f, 0.5f, 0, 1, 0});
const Tensor kWeights = Tensor::of<float>({2}, {2, 0.5f});

float value(const Loss& loss, const Tensor& labels,
            const Tensor& weights = {}) {
  return loss(Variable(kOutputs), {kOutputs, labels, weights}).value().item();
}

// Expected values from Keras 3.15 (JAX, f32) for the same arrays, equal up to a
// few units in the last place.
TEST(Losses, AgreeWithKeras) {
  EXPECT_FLOAT_EQ(
      value(losses::categorical_cross_entropy({.label_smoothing = 0.1f}),
            kSoftTargets),
      0.9777404069900513f);
  EXPECT_FLOAT_EQ(
      value(losses::categorical_cross_entropy(), kSoftTargets, kWeights),
      1.6710679531097412f);
  EXPECT_FLOAT_EQ(value(losses::binary_cross_entropy({.label_smoothing = 0.2f}),
                        kSoftTargets),
                  0.6732105016708374f);
  EXPECT_FLOAT_EQ(value(losses::binary_cross_entropy(), kSoftTargets, kWeights),
                  0.9426720142364502f);
  EXPECT_FLOAT_EQ(value(losses::mean_squared_error(), kSoftTargets, kWeights),
                  2.3933334350585938f);
  EXPECT_FLOAT_EQ(value(losses::mean_absolute_error(), kSoftTargets),
                  1.0166666507720947f);
  EXPECT_FLOAT_EQ(value(losses::huber({.delta = 0.75f}), kSoftTargets),
                  0.574999988079071f);
}

TEST(Losses, OfClassesEqualThoseOfOneHotLabels) {
  const Tensor labels = Tensor::of<int64_t>({2}, {2, 1});
  const Tensor rows = Tensor::of<float>({2, 3}, {0, 0, 1, 0, 1, 0});
  for (const float s : {0.0f, 0.3f, 1.0f}) {
    EXPECT_FLOAT_EQ(
        value(losses::sparse_categorical_cross_entropy({.label_smoothing = s}),
              labels, kWeights),
        value(losses::categorical_cross_entropy({.label_smoothing = s}), rows,
              kWeights));
  }
}

TEST(Losses, StayFiniteOnLargeLogits) {
  const Variable y(Tensor::of<float>({1, 2}, {1e4f, -1e4f}));
  EXPECT_EQ(
      softmax_cross_entropy(y, Tensor::of<int64_t>({1}, {1})).value().item(),
      2e4f);
  EXPECT_EQ(
      binary_cross_entropy(y, Tensor::of<float>({1, 2}, {0, 1})).value().item(),
      1e4f);
  EXPECT_EQ(
      binary_cross_entropy(y, Tensor::of<float>({1, 2}, {1, 0})).value().item(),
      0.0f);
}

auto numbers_near(float tolerance, const std::vector<float>& expected) {
  return testing::Pointwise(testing::FloatNear(tolerance), expected);
}

/// Returns the losses per sample and the gradient of their sum, flat.
template <class Loss>
std::pair<std::vector<float>, std::vector<float>> with_gradient(
    const Tensor& outputs, const Loss& loss) {
  const Variable y(outputs, true);
  const Variable losses = loss(y);
  sum(losses).backward();
  const auto values = losses.value().f32();
  const auto gradient = y.grad().f32();
  return {{values.begin(), values.end()}, {gradient.begin(), gradient.end()}};
}

// Expected values from Keras 3.15.1 (JAX, float64). Keras has no gradient for a
// row with a clipped probability; Octet has that of its other probabilities.
TEST(Losses, MatchKerasOnProbabilities) {
  const Tensor p =
      Tensor::of<float>({3, 3}, {0.7f, 0.2f, 0.1f, 0, 1, 0, 0.3f, 0.3f, 0.2f});
  const CrossEntropyOptions shares{.from_logits = false};
  const LossOptions each{.reduction = Reduction::none};
  const auto [sparse, sparse_slope] = with_gradient(p, [&](const Variable& y) {
    return softmax_cross_entropy(y, Tensor::of<int64_t>({3}, {0, 0, 2}), shares,
                                 each);
  });
  EXPECT_THAT(sparse,
              numbers_near(2e-6f, {0.35667494f, 16.11809565f, 1.38629436f}));
  EXPECT_THAT(std::vector(sparse_slope.begin(), sparse_slope.begin() + 3),
              numbers_near(1e-6f, {-0.42857143f, 1.0f, 1.0f}));
  EXPECT_THAT(std::vector(sparse_slope.begin() + 6, sparse_slope.end()),
              numbers_near(1e-6f, {1.25f, 1.25f, -3.75f}));
  const Tensor rows = Tensor::of<float>(
      {3, 3}, {0.9f, 0.1f, 0, 0.5f, 0.5f, 0, 0, 0.25f, 0.75f});
  const auto [dense, dense_slope] = with_gradient(p, [&](const Variable& y) {
    return octet::categorical_cross_entropy(y, rows, shares, each);
  });
  EXPECT_THAT(dense,
              numbers_near(2e-6f, {0.48195124f, 8.05904788f, 1.28492808f}));
  EXPECT_THAT(std::vector(dense_slope.begin() + 6, dense_slope.end()),
              numbers_near(1e-6f, {1.25f, 0.41666667f, -2.5f}));
  const auto [binary, binary_slope] = with_gradient(
      Tensor::of<float>({2, 2}, {0.9f, 0.25f, 0, 1}), [&](const Variable& y) {
        return octet::binary_cross_entropy(
            y, Tensor::of<float>({2, 2}, {1, 0, 0, 0}), shares, each);
      });
  EXPECT_THAT(binary, numbers_near(2e-6f, {0.1965213f, 8.0590477f}));
  EXPECT_THAT(binary_slope,
              numbers_near(1e-6f, {-0.55555556f, 0.66666667f, 0, 0}));
}

TEST(Losses, RejectTargetsThatAreNotProbabilities) {
  const Variable y(Tensor::of<float>({1, 2}, {1, -1}));
  for (const float t : {-1.0f, 2.0f, 255.0f}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)octet::binary_cross_entropy(
                    y, Tensor::of<float>({1, 2}, {t, 0}));
              }),
              (Failure{"out_of_range", "binary_cross_entropy"}));
  }
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)octet::categorical_cross_entropy(
                  y, Tensor::of<float>({1, 2}, {-1, 2}));
            }),
            (Failure{"out_of_range", "categorical_cross_entropy"}));
}

// Bit-identical to the loss of the logits, which the softmax would round.
TEST(Losses, UseTheLogitsOfASoftmax) {
  const Tensor x = Tensor::of<float>({2, 3}, {100, -100, 3, 0.25f, 1, -2});
  const Tensor labels = Tensor::of<int64_t>({2}, {1, 2});
  const LossOptions each{.reduction = Reduction::none};
  const auto logits = with_gradient(x, [&](const Variable& y) {
    return softmax_cross_entropy(y, labels, {}, each);
  });
  const auto shares = with_gradient(x, [&](const Variable& y) {
    return softmax_cross_entropy(softmax(y), labels, {.from_logits = false},
                                 each);
  });
  EXPECT_EQ(logits, shares);
  const Tensor t = Tensor::of<float>({2, 3}, {1, 1, 0, 0, 1, 0});
  EXPECT_EQ(with_gradient(x,
                          [&](const Variable& y) {
                            return octet::binary_cross_entropy(y, t, {}, each);
                          }),
            with_gradient(x, [&](const Variable& y) {
              return octet::binary_cross_entropy(sigmoid(y), t,
                                                 {.from_logits = false}, each);
            }));
}

TEST(Losses, PropagateNan) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Variable y(Tensor::of<float>({1, 2}, {nan, 1}));
  const Tensor t = Tensor::of<float>({1, 2}, {0, 1});
  const Tensor label = Tensor::of<int64_t>({1}, {1});
  EXPECT_TRUE(std::isnan(softmax_cross_entropy(y, label).value().item()));
  EXPECT_TRUE(std::isnan(categorical_cross_entropy(y, t).value().item()));
  EXPECT_TRUE(std::isnan(binary_cross_entropy(y, t).value().item()));
  EXPECT_TRUE(std::isnan(mean_squared_error(y, t).value().item()));
  EXPECT_TRUE(std::isnan(mean_absolute_error(y, t).value().item()));
  EXPECT_TRUE(std::isnan(huber(y, t).value().item()));
  EXPECT_TRUE(std::isnan(distillation_loss(y, t, label).value().item()));
}

TEST(Losses, AcceptTargetsWithoutATrailingAxisOfSizeOne) {
  const Tensor y = Tensor::of<float>({2, 1}, {1, 3});
  const auto of = [&](const Loss& loss, const Tensor& labels) {
    return loss(Variable(y), {y, labels}).value().item();
  };
  EXPECT_EQ(of(losses::mean_squared_error(), Tensor::of<float>({2}, {0, 1})),
            2.5f);
  EXPECT_FLOAT_EQ(
      of(losses::binary_cross_entropy(), Tensor::of<int64_t>({2}, {0, 1})),
      static_cast<float>(
          (std::log1p(std::exp(1.0)) + std::log1p(std::exp(-3.0))) / 2));
  EXPECT_THROW(
      of(losses::mean_squared_error(), Tensor::of<float>({3}, {0, 1, 2})),
      ShapeError);
}

TEST(Distillation, IsCrossEntropyForAlphaZeroAndZeroForItsTeacher) {
  const Variable y(kOutputs);
  const Tensor labels = Tensor::of<int64_t>({2}, {0, 1});
  EXPECT_FLOAT_EQ(
      distillation_loss(y, kSoftTargets, labels, {.temperature = 3, .alpha = 0})
          .value()
          .item(),
      softmax_cross_entropy(y, labels).value().item());
  EXPECT_NEAR(
      distillation_loss(y, kOutputs, labels, {.temperature = 3, .alpha = 1})
          .value()
          .item(),
      0.0f, 1e-7);
}

TEST(Distillation, RunsTheTeacherOnTheSameInputs) {
  const SymbolicTensor x = input({3});
  const Model teacher(x, Dense({.units = 3})(x), {.seed = 4});
  const Tensor labels = Tensor::of<int64_t>({2}, {0, 1});
  const Loss loss = losses::distillation(teacher, {.temperature = 2});
  EXPECT_FLOAT_EQ(
      value(loss, labels),
      distillation_loss(Variable(kOutputs), teacher.predict(kOutputs), labels,
                        {.temperature = 2})
          .value()
          .item());
}

TEST(Loss, SupportsACustomFunction) {
  const Loss loss("sum", [](const Variable& y, const Batch&) {
    return record("sum", {y}, Tensor::scalar(7.0f),
                  [](const Tensor& dy) { return std::vector{dy}; });
  });
  EXPECT_EQ(value(loss, kSoftTargets), 7.0f);
  EXPECT_THROW(value(loss, kSoftTargets, kWeights), ValueError);
  EXPECT_THROW(Loss("none", {}), ValueError);
  const Loss wrong("same", [](const Variable& y, const Batch&) { return y; });
  EXPECT_THROW(value(wrong, kSoftTargets), ShapeError);
}

TEST(Losses, RejectInvalidOptionsAndTargets) {
  const Variable y(kOutputs);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor labels = Tensor::of<int64_t>({2}, {0, 1});
  EXPECT_THROW(softmax_cross_entropy(y, labels, {.label_smoothing = 1.1f}),
               ValueError);
  EXPECT_THROW(softmax_cross_entropy(y, labels, {.label_smoothing = nan}),
               ValueError);
  EXPECT_THROW(
      softmax_cross_entropy(y, labels, {}, {.weights = Tensor::full({2}, -1)}),
      ValueError);
  EXPECT_THROW(
      softmax_cross_entropy(y, labels, {}, {.weights = Tensor::full({3}, 1)}),
      ShapeError);
  EXPECT_THROW(softmax_cross_entropy(y, Tensor::of<int64_t>({2}, {0, 3})),
               ValueError);
  EXPECT_THROW(softmax_cross_entropy(y, Tensor::of<int64_t>({2}, {0, -1})),
               ValueError);
  EXPECT_THROW(categorical_cross_entropy(y, Tensor::zeros({2, 2})), ShapeError);
  EXPECT_THROW(huber(y, kSoftTargets, {.delta = 0}), ValueError);
  EXPECT_THROW(distillation_loss(y, kSoftTargets, labels, {.temperature = 0}),
               ValueError);
  EXPECT_THROW(distillation_loss(y, kSoftTargets, labels, {.alpha = 2}),
               ValueError);
  EXPECT_THROW(mean_squared_error(y, Tensor::zeros({2, 3}, DType::i64)),
               ValueError);
}

}  // namespace
}  // namespace octet::train
