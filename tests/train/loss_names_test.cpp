// Losses and metrics by their Keras and PyTorch names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"

namespace octet::train {
namespace {

TEST(LossNames, IncludeKerasAndPyTorch) {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"mse", "mean_squared_error"},
      {"MeanSquaredError", "mean_squared_error"},
      {"mean_squared_error", "mean_squared_error"},
      {"MSELoss", "mean_squared_error"},
      {"mae", "mean_absolute_error"},
      {"MAE", "mean_absolute_error"},
      {"L1Loss", "mean_absolute_error"},
      {"l1_loss", "mean_absolute_error"},
      {"sparse_categorical_crossentropy", "sparse_categorical_cross_entropy"},
      {"SparseCategoricalCrossentropy", "sparse_categorical_cross_entropy"},
      {"cross_entropy", "sparse_categorical_cross_entropy"},
      {"CrossEntropyLoss", "sparse_categorical_cross_entropy"},
      {"categorical_crossentropy", "categorical_cross_entropy"},
      {"CategoricalCrossentropy", "categorical_cross_entropy"},
      {"binary_crossentropy", "binary_cross_entropy"},
      {"BinaryCrossentropy", "binary_cross_entropy"},
      {"BCELoss", "binary_cross_entropy"},
      {"BCEWithLogitsLoss", "binary_cross_entropy"},
      {"binary_cross_entropy_with_logits", "binary_cross_entropy"},
      {"Huber", "huber"},
      {"HuberLoss", "huber"},
      {"SmoothL1Loss", "huber"}};
  for (const auto& [name, own] : names) {
    EXPECT_EQ(Loss(name).name(), own) << name;
    EXPECT_EQ(loss_name(name), own) << name;
  }
  EXPECT_EQ(losses::mse().name(), "mean_squared_error");
  EXPECT_EQ(losses::CrossEntropyLoss().name(),
            losses::sparse_categorical_crossentropy().name());
  EXPECT_EQ(losses::BCEWithLogitsLoss().name(), "binary_cross_entropy");
  EXPECT_EQ(losses::SmoothL1Loss().name(), "huber");
}

// Logits, labels and losses of PyTorch 2.15 and Keras 3.15, which agree.
const Tensor kLogits =
    Tensor::of<float>({2, 3}, {0.5f, -1, 2, 1.5f, 0.25f, -0.5f});
const Tensor kClasses = Tensor::of<int64_t>({2}, {2, 0});
const Tensor kShares = Tensor::of<float>({2, 3}, {0, 0.25f, 0.75f, 1, 0, 0});
const Tensor kTargets = Tensor::of<float>({2, 3}, {0, 1, 2.5f, -1, 0.5f, 0});

float loss_of(const Loss& loss, const Tensor& outputs, const Tensor& labels) {
  return loss(Variable(outputs), Batch(Tensor::zeros({2, 3}), labels))
      .value()
      .item();
}

TEST(LossNames, ReturnTheLossesOfPyTorch) {
  namespace l = losses;
  const auto expect = [](const Loss& loss, const Tensor& labels, float value) {
    EXPECT_NEAR(loss_of(loss, kLogits, labels), value, 1e-6) << loss.name();
  };
  expect(l::CrossEntropyLoss(), kClasses, 0.29663160f);
  expect(l::CrossEntropyLoss({.label_smoothing = 0.1f}), kClasses, 0.42579827f);
  expect(l::BCEWithLogitsLoss(), kShares, 0.61094946f);
  EXPECT_NEAR(loss_of(l::BCELoss(), sigmoid(kLogits), kShares), 0.61094946f,
              1e-6);
  expect(l::MSELoss(), kTargets, 1.84375f);
  expect(l::L1Loss(), kTargets, 1.04166663f);
  expect(l::HuberLoss(), kTargets, 0.65104169f);
  expect(l::HuberLoss({.delta = 0.5f}), kTargets, 0.40104166f);
  expect(l::SmoothL1Loss(), kTargets, 0.65104169f);
  expect(l::SmoothL1Loss({.beta = 0.5f}), kTargets, 0.80208331f);
}

TEST(LossNames, ReturnTheLossesOfKeras) {
  namespace l = losses;
  const auto expect = [](const Loss& loss, const Tensor& outputs,
                         const Tensor& labels, float value) {
    EXPECT_NEAR(loss_of(loss, outputs, labels), value, 1e-6) << loss.name();
  };
  const Tensor shares = softmax(kLogits);
  expect(l::SparseCategoricalCrossentropy(), shares, kClasses, 0.29663157f);
  expect(l::SparseCategoricalCrossentropy({.from_logits = true}), kLogits,
         kClasses, 0.29663160f);
  expect(l::CategoricalCrossentropy(), shares, kShares, 0.67163157f);
  expect(l::CategoricalCrossentropy(
             {.label_smoothing = 0.1f, .from_logits = true}),
         kLogits, kShares, 0.76329827f);
  expect(l::BinaryCrossentropy(), sigmoid(kLogits), kShares, 0.61094940f);
  expect(l::BinaryCrossentropy({.from_logits = true}), kLogits, kShares,
         0.61094946f);
  expect(l::Huber({.delta = 0.5f}), kLogits, kTargets, 0.40104169f);
}

TEST(LossNames, RejectLogitsForProbabilities) {
  const Failure unexpected{"invalid_value", "sparse_categorical_cross_entropy"};
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)loss_of(losses::SparseCategoricalCrossentropy(), kLogits,
                            kClasses);
            }),
            unexpected);
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)loss_of(losses::CrossEntropyLoss(), softmax(kLogits),
                            kClasses);
            }),
            unexpected);
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)losses::BCELoss({.from_logits = true}); }),
            (Failure{"conflicting_options", "BCELoss"}));
  EXPECT_THROW((void)losses::SmoothL1Loss({.beta = 0}), ValueError);
}

TEST(LossNames, RejectUnknownNames) {
  EXPECT_EQ(loss_name("hinge"), "");
  EXPECT_EQ(failure_of<NotFoundError>([] { (void)Loss("msee"); }),
            (Failure{"unknown_name", "loss 'msee'"}));
  EXPECT_EQ(failure_of<NotFoundError>([] { (void)Loss(""); }),
            (Failure{"unknown_name", "loss ''"}));
  EXPECT_EQ(failure_of<NotFoundError>([] { (void)Metric("acuracy"); }),
            (Failure{"unknown_name", "metric 'acuracy'"}));
  EXPECT_THROW((void)Metric("top_0_accuracy"), NotFoundError);
}

TEST(MetricNames, IncludeKeras) {
  EXPECT_EQ(Metric("accuracy").name, "accuracy");
  EXPECT_EQ(Metric("acc").name, "accuracy");
  EXPECT_EQ(Metric("sparse_categorical_accuracy").name, "accuracy");
  EXPECT_EQ(Metric("CategoricalAccuracy").name, "accuracy");
  EXPECT_EQ(Metric("BinaryAccuracy").name, "binary_accuracy");
  EXPECT_EQ(Metric("top_3_accuracy").name, "top_3_accuracy");
  EXPECT_EQ(Metric("TopKCategoricalAccuracy").name, "top_5_accuracy");
  EXPECT_EQ(Metric("mae").name, "mean_absolute_error");
  EXPECT_EQ(metrics::SparseCategoricalAccuracy().name, "accuracy");
  EXPECT_EQ(metrics::sparse_top_k_categorical_accuracy(3).name,
            "top_3_accuracy");
}

TEST(LossNames, ConvertToLossesAndMetricsInOptions) {
  Model model = small_network();
  const Dataset data = one_hot(blobs(16), 2);
  const History history = fit(model, data,
                              {.epochs = 1,
                               .verbose = false,
                               .loss = "mse",
                               .metrics = {"acc", "mae"}});
  EXPECT_EQ(history[0].metrics.size(), 2u);
  const Evaluation result = evaluate(
      model, data, {.loss = "CategoricalCrossentropy", .metrics = {"acc"}});
  EXPECT_EQ(result.loss,
            evaluate(model, data, {.loss = losses::categorical_cross_entropy()})
                .loss);
  EXPECT_EQ(result.metrics.at(0).name, "accuracy");
}

TEST(LossNames, ConvertToLossesOfSeveralOutputs) {
  const SymbolicTensor x = input({2});
  const Model model({x}, {Dense({.units = 1, .name = "box"})(x),
                          Dense({.units = 2, .name = "class"})(x)});
  const Dataset data(
      noise({8, 2}),
      {{"box", noise({8, 1})}, {"class", Tensor::zeros({8}, DType::i64)}});
  const Evaluation result = evaluate(
      model, data,
      {.loss = {{"box", "huber", 0.5f, {"mae"}}, {"class", "cross_entropy"}}});
  EXPECT_EQ(result.value("box_mean_absolute_error"),
            result.metrics.at(2).value);
}

}  // namespace
}  // namespace octet::train
