// Losses and metrics by their Keras and PyTorch names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
