// Labels with the number of values of the outputs, but a different shape.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/train/evaluate.h>
#include <octet/train/fit.h>
#include <octet/train/learning_rate.h>
#include <octet/train/metric.h>

#include "../facts.h"
#include "../support.h"
#include "blobs.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;

/// Two values for each of four boxes: [N,4,2].
Model detector() {
  const SymbolicTensor x = input({4, 3});
  return Model(x, Dense({.units = 2, .name = "boxes"})(x), {.name = "net"});
}

Dataset boxes(const Shape& labels) {
  return Dataset(noise({8, 4, 3}), Tensor::zeros(labels));
}

std::vector<Loss> losses_of_values() {
  return {losses::mean_squared_error(), losses::mean_absolute_error(),
          losses::huber(), losses::binary_cross_entropy(),
          losses::categorical_cross_entropy()};
}

TEST(LabelShape, RejectsAnotherOrderWithATransposition) {
  const Model model = detector();
  for (const Loss& loss : losses_of_values()) {
    EXPECT_EQ(evaluate(model, boxes({8, 4, 2}), {.loss = loss}).samples, 8);
    const Failure failure = failure_of<ValueError>([&] {
      (void)evaluate(model, boxes({8, 2, 4}), {.loss = loss});
    });
    EXPECT_EQ(failure, (Failure{"shape_mismatch", "evaluate"})) << loss.name();
    EXPECT_THAT(calls_in(failure.text()),
                ElementsAre("labels.transposed({0,2,1})"));
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)evaluate(model, boxes({8, 8}), {.loss = loss});
              }),
              (Failure{"shape_mismatch", "evaluate"}))
        << loss.name();
  }
}

TEST(LabelShape, IsCheckedByLossesAndMetrics) {
  const Tensor y = noise({8, 4, 2});
  const Tensor other = Tensor::zeros({8, 2, 4});
  for (const Loss& loss : losses_of_values()) {
    EXPECT_EQ(failure_of<ShapeError>([&] {
                (void)loss(y, {y, other});
              }),
              (Failure{"shape_mismatch", loss.name()}))
        << loss.name();
    EXPECT_THROW((void)loss(y, {y, Tensor::zeros({8, 8})}), ShapeError);
    EXPECT_THROW((void)loss(y, {y, Tensor::zeros({4, 4, 4})}), ShapeError);
  }
  for (const Metric& metric :
       {metrics::mean_squared_error(), metrics::mean_absolute_error(),
        metrics::binary_accuracy(), metrics::accuracy(),
        metrics::top_k_accuracy(1)}) {
    EXPECT_EQ(failure_of<ShapeError>([&] {
                (void)metric.each(y, {y, other});
              }),
              (Failure{"shape_mismatch", metric.name}))
        << metric.name;
    EXPECT_THROW((void)metric.each(y, {y, Tensor::zeros({8, 8})}), ShapeError);
    EXPECT_EQ(metric.each(y, {y, Tensor::zeros({8, 4, 2})}).size(), 8u);
  }
  ConfusionMatrix matrix(2);
  EXPECT_EQ(failure_of<ShapeError>([&] { matrix.add(y, other); }),
            (Failure{"shape_mismatch", "ConfusionMatrix"}));
}

TEST(LabelShape, RejectsMasksInAnotherOrder) {
  const SymbolicTensor x = input({4, 5, 1});
  const Model model(x, Conv2D({.filters = 3, .kernel_size = 1})(x));
  const Dataset data(noise({6, 4, 5, 1}), Tensor::zeros({6, 5, 4}, DType::i64));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)evaluate(model, data); }),
            (Failure{"shape_mismatch", "evaluate"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)softmax_cross_entropy(noise({6, 4, 5, 3}),
                                          Tensor::zeros({6, 5, 4}, DType::i64));
            }),
            (Failure{"shape_mismatch", "softmax_cross_entropy"}));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)confusion_matrix(model, data); }),
      (Failure{"shape_mismatch", "ConfusionMatrix"}));
}

TEST(LabelShape, IsCheckedBeforeTheFirstStep) {
  Model model = detector();
  const FitOptions options{.loss = losses::mean_squared_error()};
  EXPECT_THROW((void)fit(model, boxes({8, 2, 4}), options), ValueError);
  EXPECT_THROW((void)find_learning_rate(model, boxes({8, 2, 4}),
                                        {.loss = losses::huber()}),
               ValueError);
  const Dataset validation = boxes({8, 2, 4});
  FitOptions with = options;
  with.validation = &validation;
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)fit(model, boxes({8, 4, 2}), with);
            }),
            (Failure{"shape_mismatch", "validation data"}));
  EXPECT_EQ(model.training_passes(), 0u);
}

// Either labels or outputs may have the axis.
TEST(LabelShape, MayLackATrailingAxisOfSizeOne) {
  const Tensor y = noise({4, 3, 1});
  const Tensor t = noise({4, 3, 1}, 2);
  for (const Loss& loss :
       {losses::mean_squared_error(), losses::mean_absolute_error()}) {
    const float same = loss(y, {y, t}).value().item();
    EXPECT_EQ(loss(y, {y, t.reshaped({4, 3})}).value().item(), same);
    EXPECT_EQ(loss(y.reshaped({4, 3}), {y, t}).value().item(), same);
  }
  EXPECT_EQ(metrics::mean_squared_error().each(y, {y, t}),
            metrics::mean_squared_error().each(y, {y, t.reshaped({4, 3})}));
  // An axis of size 1 elsewhere is a different layout.
  EXPECT_THROW(
      (void)losses::mean_squared_error()(y, {y, t.reshaped({4, 1, 3})}),
      ShapeError);
  EXPECT_THROW(
      (void)losses::mean_squared_error()(noise({1, 3}), {y, noise({3})}),
      ShapeError);
}

/// Samples with too few weights.
class FewWeights final : public Transform {
 public:
  void apply(Batch& batch, const SampleStreams&) const override {
    batch.weights = Tensor::full({batch.size() - 1}, 1);
  }
};

TEST(LabelShape, RequiresAWeightPerSample) {
  Model model = small_network();
  EXPECT_THROW((void)fit(model, blobs(8),
                         {.augmentation = {std::make_shared<FewWeights>()}}),
               Error);
}

// As in Keras, accuracy of a single output is binary_accuracy; an argmax would
// always be correct.
TEST(Accuracy, OfASingleOutputAppliesAThreshold) {
  const Tensor y = Tensor::of<float>({4, 1}, {0.9f, 0.2f, 0.6f, -1});
  const Tensor labels = Tensor::of<int64_t>({4}, {1, 1, 0, 0});
  const Metric logits = metrics::accuracy();
  EXPECT_EQ(logits.each(y, {y, labels}), (std::vector<double>{1, 1, 0, 1}));
  const Metric shares = logits.adapt("sigmoid");
  EXPECT_EQ(shares.each(y, {y, labels}), (std::vector<double>{1, 0, 0, 1}));
  const Tensor column = Tensor::of<float>({4, 1}, {1, 1, 0, 0});
  EXPECT_EQ(shares.each(y, {y, column}), (std::vector<double>{1, 0, 0, 1}));
  const Metric ignoring = metrics::accuracy(0).adapt("sigmoid");
  EXPECT_EQ(ignoring.each(y, {y, labels}), (std::vector<double>{1, 0, 0, 0}));
}

TEST(ConfusionMatrix, RejectsASingleOutput) {
  const SymbolicTensor x = input({2});
  const Model model(x, Dense({.units = 1})(x));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)confusion_matrix(model, blobs(8)); }),
      (Failure{"unsupported_model", "model 'model'"}));
}

}  // namespace
}  // namespace octet::train
