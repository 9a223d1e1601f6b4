#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/train/fit.h>

#include "../support.h"

namespace octet::train {
namespace {

/// Returns a model whose logits are its inputs.
Model identity(int64_t classes) {
  const SymbolicTensor x = input({classes});
  Model model(x, Dense({.units = classes, .use_bias = false})(x));
  Tensor kernel = Tensor::zeros({classes, classes});
  for (int64_t i = 0; i < classes; ++i) {
    kernel.f32()[static_cast<size_t>(i * classes + i)] = 1;
  }
  model.layer("dense").parameter("kernel").variable.assign(kernel);
  return model;
}

Dataset labelled(int64_t classes, const std::vector<float>& logits,
                 const std::vector<int64_t>& labels) {
  const auto n = static_cast<int64_t>(labels.size());
  return Dataset(
      Tensor::of<float>({n, classes}, std::span<const float>(logits)),
      Tensor::of<int64_t>({n}, std::span<const int64_t>(labels)));
}

TEST(Evaluate, CountsCorrectPredictions) {
  const Dataset data = labelled(
      3, {1, 0, 0, /**/ 0, 2, 1, /**/ 0, 2, 1, /**/ -3, -2, -1}, {0, 1, 2, 2});
  const Evaluation result = evaluate(identity(3), data);
  EXPECT_EQ(result.accuracy, 0.75);
  EXPECT_EQ(result.samples, 4);
}

TEST(Evaluate, ReturnsTheMeanCrossEntropy) {
  const Dataset data = labelled(2, {1, 3, /**/ 0, 0}, {0, 1});
  // log(1 + e^2) and log(2).
  const double expected = (std::log1p(std::exp(2.0)) + std::log(2.0)) / 2;
  // Losses per sample are rounded to f32.
  EXPECT_NEAR(evaluate(identity(2), data).loss, expected, 1e-7);
}

TEST(Evaluate, DoesNotOverflowOnLargeLogits) {
  const Dataset data = labelled(2, {1e4f, -1e4f, /**/ 1e4f, -1e4f}, {0, 1});
  EXPECT_EQ(evaluate(identity(2), data).loss, 1e4);
}

TEST(Evaluate, PredictsTheFirstOfEqualLogits) {
  const Dataset data = labelled(3, {5, 5, 1, /**/ 5, 5, 1}, {0, 1});
  EXPECT_EQ(evaluate(identity(3), data).accuracy, 0.5);
}

TEST(Evaluate, CountsNanAsWrong) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  // A NaN input makes the whole row of logits NaN: NaN * 0 is NaN.
  const Dataset data = labelled(2, {nan, 0, /**/ 0, nan, /**/ 1, 0}, {0, 1, 0});
  const Evaluation result = evaluate(identity(2), data);
  EXPECT_EQ(result.accuracy, 1.0 / 3.0);
  EXPECT_TRUE(std::isnan(result.loss));
  EXPECT_EQ(evaluate(identity(1), labelled(1, {nan}, {0})).accuracy, 0.0);
}

TEST(Evaluate, DoesNotDependOnTheBatchSize) {
  std::vector<float> logits;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 37; ++i) {
    logits.push_back(std::sin(static_cast<float>(i)));
    logits.push_back(std::cos(static_cast<float>(3 * i)));
    labels.push_back(i % 2);
  }
  const Dataset data = labelled(2, logits, labels);
  const Model model = identity(2);
  const Evaluation whole = evaluate(model, data, {.batch_size = 37});
  for (const int64_t batch_size :
       {int64_t{1}, int64_t{10}, int64_t{36}, int64_t{38},
        std::numeric_limits<int64_t>::max()}) {
    const Evaluation result = evaluate(model, data, {.batch_size = batch_size});
    EXPECT_EQ(result.loss, whole.loss);
    EXPECT_EQ(result.accuracy, whole.accuracy);
    EXPECT_EQ(result.samples, 37);
  }
}

TEST(Evaluate, RejectsABatchSizeBelowOne) {
  const Dataset data = labelled(2, {1, 0}, {0});
  EXPECT_THROW(evaluate(identity(2), data, {.batch_size = 0}), ValueError);
  EXPECT_THROW(evaluate(identity(2), data, {.batch_size = -1}), ValueError);
}

TEST(Evaluate, NamesTheSampleWhoseLabelIsOutOfRange) {
  for (const int64_t label : {int64_t{2}, int64_t{-1}}) {
    const Dataset data = labelled(2, {1, 0, 1, 0, 1, 0}, {0, 1, label});
    const Failure failure = failure_of<ValueError>(
        [&] { evaluate(identity(2), data, {.batch_size = 2}); });
    EXPECT_EQ(failure, (Failure{"out_of_range", "evaluate"}));
    EXPECT_THAT(failure.message, testing::HasSubstr("at sample 2"));
  }
}

TEST(Evaluate, RejectsEmptyOrMismatchedData) {
  EXPECT_THROW(evaluate(identity(2), labelled(2, {}, {})), ValueError);
  EXPECT_THROW(evaluate(identity(2), labelled(3, {1, 2, 3}, {0})), ValueError);
}

TEST(Evaluate, RejectsAModelThatDoesNotEndInLogits) {
  const SymbolicTensor x = input({2, 3});
  const Model model(x, Dense({.units = 4})(x));
  const Dataset data(Tensor::zeros({1, 2, 3}), Tensor::zeros({1}, DType::i64));
  EXPECT_THROW(evaluate(model, data), ValueError);
}

TEST(Evaluation, PrintsItselfReadably) {
  std::ostringstream out;
  out << Evaluation{.loss = 0.24561, .accuracy = 0.91234, .samples = 10000};
  EXPECT_EQ(out.str(), "accuracy 91.23 %, loss 0.2456 (10000 samples)");
}

TEST(Evaluation, PrintsOtherMetricsToo) {
  std::ostringstream out;
  out << Evaluation{.loss = 0.5,
                    .accuracy = std::nan(""),
                    .samples = 3,
                    .metrics = {{"mean_absolute_error", 0.25}}};
  EXPECT_EQ(out.str(), "loss 0.5000, mean_absolute_error 0.2500 (3 samples)");
}

TEST(Predict, ReturnsAllOutputsInOrderForAnyBatchSize) {
  const Dataset data = labelled(2, {1, 2, /**/ 3, 4, /**/ 5, 6}, {0, 1, 0});
  for (const int64_t batch_size : {int64_t{1}, int64_t{2}, int64_t{9}}) {
    const Tensor outputs = predict(identity(2), data, batch_size);
    ASSERT_EQ(outputs.shape(), (Shape{3, 2}));
    for (size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(outputs.f32()[i], static_cast<float>(i + 1));
    }
  }
  EXPECT_THROW(predict(identity(2), data, 0), ValueError);
  EXPECT_THROW(predict(identity(2), labelled(2, {}, {})), ValueError);
}

}  // namespace
}  // namespace octet::train
