// keep_best: a fit restores the best of the initial model and its epochs.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "checkpointed_fit.h"
#include "weights.h"

namespace octet::train {
namespace {

/// Returns a model trained to separate blobs().
Model trained_network() {
  Model model = small_network();
  fit(model, blobs(64),
      {.epochs = 20, .optimizer = Adam({.learning_rate = 0.02f})});
  return model;
}

/// Sets the bias of "logits" at the end of each epoch, which determines the
/// quality of the model: a bias of 0 is best.
class Biases final : public Callback {
 public:
  explicit Biases(std::vector<float> biases) : biases_(std::move(biases)) {}
  void on_epoch_end(const Progress& progress) override {
    const float bias = biases_.at(static_cast<size_t>(progress.epoch));
    Variable variable =
        progress.training->model().layer("logits").parameter("bias").variable;
    variable.assign(Tensor::of<float>({2}, {bias, -bias}));
  }

 private:
  std::vector<float> biases_;
};

float bias_of(const Model& model) {
  return model.layer("logits").parameter("bias").variable.value().f32()[0];
}

/// Fits with a learning rate of 0 and these biases after each epoch.
std::shared_ptr<KeepBest> run(Model& model, const std::vector<float>& biases,
                              const KeepBestOptions& options = {}) {
  const auto best = keep_best(blobs(40, 7), options);
  fit(model, blobs(32),
      {.epochs = std::ssize(biases),
       .optimizer = SGD({.learning_rate = 1e-12f}),
       .callbacks = {std::make_shared<Biases>(biases), best}});
  return best;
}

TEST(KeepBest, RestoresTheInitialModelIfTrainingDegradesIt) {
  Model model = trained_network();
  const std::vector<float> before = weights_of(model);
  // Swapped labels degrade the model.
  Batch wrong = blobs(64).batch(0, 64);
  Tensor labels = wrong.label().clone();
  for (int64_t& label : labels.data<int64_t>()) label = 1 - label;
  const auto best = keep_best(blobs(40, 7));
  fit(model, Dataset(wrong.input(), labels),
      {.epochs = 3,
       .optimizer = SGD({.learning_rate = 1.0f}),
       .callbacks = {best}});
  EXPECT_EQ(best->best(), 0);
  EXPECT_EQ(weights_of(model), before);
  ASSERT_EQ(best->evaluations().size(), 4u);
  EXPECT_EQ(best->evaluations()[0].loss, evaluate(model, blobs(40, 7)).loss);
  EXPECT_GT(best->evaluations().back().loss, best->evaluations()[0].loss);
}

TEST(KeepBest, RestoresTheBestEpoch) {
  Model model = trained_network();
  const auto best = run(model, {50, 0, 60}, {.monitor = "loss"});
  EXPECT_EQ(bias_of(model), best->best() == 2 ? 0.0f : bias_of(model));
  // Accuracy decides, and a bias of 50 assigns all samples to the same class.
  Model other = trained_network();
  Variable(other.layer("logits").parameter("bias").variable)
      .assign(Tensor::of<float>({2}, {40, -40}));
  const auto by_accuracy = run(other, {50, 0, 60});
  EXPECT_EQ(by_accuracy->monitor(), "accuracy");
  EXPECT_EQ(by_accuracy->best(), 2);
  EXPECT_EQ(bias_of(other), 0.0f);
  EXPECT_EQ(by_accuracy->score(by_accuracy->evaluations()[2]), 1.0);
}

TEST(KeepBest, BreaksTiesByTheLossThenTheEarlierModel) {
  Model model = trained_network();
  // All models classify all samples correctly; the loss falls with the bias.
  const auto best = run(model, {0.3f, 0.1f, 0.1f, 0.2f});
  const auto& all = best->evaluations();
  for (const Evaluation& each : all) EXPECT_EQ(each.accuracy, 1.0);
  size_t lowest = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].loss < all[lowest].loss) lowest = i;
  }
  EXPECT_EQ(best->best(), static_cast<int64_t>(lowest));
  EXPECT_NEAR(all[2].loss, all[3].loss, 1e-9);
}

TEST(KeepBest, NeverSelectsNan) {
  Model model = trained_network();
  const float before = bias_of(model);
  const auto best = keep_best(blobs(40, 7));
  const Training* training = nullptr;
  (void)training;
  const WarningCapture warnings;
  // fit rejects such parameters, so the events are simulated.
  Training played(model, SGD(), {"loss"});
  Progress progress{.epochs = 1};
  progress.training = &played;
  best->on_train_begin(progress);
  Variable(model.layer("logits").parameter("bias").variable)
      .assign(Tensor::full({2}, std::numeric_limits<float>::quiet_NaN()));
  best->on_epoch_end(progress);
  best->on_train_end(progress);
  EXPECT_EQ(best->best(), 0);
  EXPECT_EQ(bias_of(model), before);
}

TEST(KeepBest, ComparesTheLossOfSeveralOutputs) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor y = Dense({.units = 4, .name = "hidden"})(x);
  Model model({x}, {Dense({.units = 2, .name = "a"})(y),
                    Dense({.units = 2, .name = "b"})(y)});
  const Tensor points = noise({24, 2});
  Tensor labels({24}, DType::i64);
  for (size_t i = 0; i < 24; ++i) {
    labels.data<int64_t>()[i] = points.f32()[2 * i] > 0 ? 1 : 0;
  }
  const Dataset data({{"x", points}}, {{"a", labels}, {"b", labels}});
  const Losses loss = {{"a", losses::sparse_categorical_cross_entropy()},
                       {"b", losses::sparse_categorical_cross_entropy(), 0.5f}};
  const auto best = keep_best(data, {.loss = loss});
  fit(model, data,
      {.epochs = 4,
       .optimizer = Adam({.learning_rate = 0.05f}),
       .callbacks = {best},
       .loss = loss});
  EXPECT_EQ(best->monitor(), "loss");
  EXPECT_EQ(best->best(), 4);
  EXPECT_EQ(evaluate(model, data, {.loss = loss}).loss,
            best->evaluations().back().loss);
}

TEST(KeepBest, RestoresStatisticsAndLearnedScales) {
  Model model = quant::quantize_model(
      image_network(), {.activation = {.rule = quant::ScaleRule::learned}});
  quant::calibrate(model, images(50, 1));
  quant::prepare_qat(model);
  const Config before = quant::state_of(model).status.at("quantizers");
  const std::vector<float> weights = weights_of(model);
  const auto best = keep_best(images(20, 2), {.monitor = "loss"});
  const WarningCapture warnings;
  fit(model, images(50, 1),
      {.epochs = 2,
       .batch_size = 8,
       .optimizer = SGD({.learning_rate = 3.0f}),
       .callbacks = {best}});
  ASSERT_EQ(best->best(), 0) << "the rate is to ruin the model";
  EXPECT_EQ(weights_of(model), weights);
  EXPECT_EQ(quant::state_of(model).status.at("quantizers"), before);
}

TEST(KeepBest, DoesNotSelectAModelWithoutScales) {
  Model model = quant::quantize_model(
      image_network(), {.activation = {.rule = quant::ScaleRule::ema}});
  const auto best = keep_best(images(20, 2));
  fit(model, images(50, 1),
      {.epochs = 2,
       .batch_size = 8,
       .optimizer = SGD({.learning_rate = 1e-6f}),
       .callbacks = {best}});
  EXPECT_EQ(best->evaluations()[0].samples, 0);
  EXPECT_GT(best->best(), 0);
  EXPECT_EQ(evaluate(model, images(20, 2)).loss,
            best->evaluations()[static_cast<size_t>(best->best())].loss);
}

TEST(KeepBest, EvaluatesWithRenewedStatistics) {
  // With a momentum of 0.99, running statistics lag after 14 steps.
  const SymbolicTensor x = input({6, 5, 1}, "image");
  SymbolicTensor y = Conv2D({.filters = 4, .name = "conv"})(x);
  y = BatchNormalization({.momentum = 0.99f, .name = "norm"})(y);
  y = Dense({.units = 2, .name = "logits"})(Flatten()(ReLU()(y)));
  Model model(x, y);
  const Dataset data = images(50, 1);
  const WarningCapture warnings;
  const auto best =
      keep_best(data, {.monitor = "loss", .update_statistics = data});
  fit(model, data,
      {.epochs = 2,
       .batch_size = 8,
       .optimizer = Adam({.learning_rate = 1e-2f}),
       .callbacks = {best}});
  ASSERT_GT(best->best(), 0);
  EXPECT_EQ(evaluate(model, data).loss,
            best->evaluations()[static_cast<size_t>(best->best())].loss);
  const std::vector<float> kept = weights_of(model);
  update_batch_statistics(model, data);
  EXPECT_EQ(weights_of(model), kept);
}

TEST(KeepBest, ResumesBitIdenticallyFromEveryCheckpoint) {
  Job job;
  job.change = [&](FitOptions& options) {
    options.callbacks = {keep_best(
        job.validation, {.monitor = "loss", .update_statistics = job.data})};
    options.optimizer = Adam({.learning_rate = 0.05f});
    options.schedule = constant();
  };
  const Job::Result expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  EXPECT_EQ(job.run(checkpoints), expected);
  const std::vector<TrainingState> states = checkpoints->states;
  for (size_t i = 0; i < states.size(); ++i) {
    checkpoints->states.assign(states.begin(),
                               states.begin() + static_cast<ptrdiff_t>(i) + 1);
    EXPECT_EQ(job.run(checkpoints, true), expected) << "from state " << i;
  }
}

/// Running scales exist from the first step on.
TEST(KeepBest, RestoresRunningScalesFromEveryCheckpoint) {
  for (const bool early : {false, true}) {
    Job job;
    job.model = [] {
      return quant::quantize_model(
          image_network(), {.activation = {.rule = quant::ScaleRule::ema}});
    };
    job.change = [&](FitOptions& options) {
      if (early) {
        options.callbacks = {
            early_stopping({.patience = 9, .restore_best_weights = true})};
      } else {
        options.callbacks = {keep_best(job.validation, {.monitor = "loss"})};
      }
      options.optimizer = Adam({.learning_rate = 0.1f});
      options.schedule = constant();
    };
    const Job::Result expected = job.run();
    const auto checkpoints = std::make_shared<MemoryCheckpoints>();
    EXPECT_EQ(job.run(checkpoints), expected);
    const std::vector<TrainingState> states = checkpoints->states;
    for (size_t i = 0; i < states.size(); ++i) {
      checkpoints->states.assign(
          states.begin(), states.begin() + static_cast<ptrdiff_t>(i) + 1);
      EXPECT_EQ(job.run(checkpoints, true), expected)
          << "early " << early << ", from state " << i;
    }
  }
}

TEST(KeepBest, RejectsInvalidArguments) {
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)keep_best(blobs(8), {.batch_size = 0}); }),
            (Failure{"out_of_range", "keep_best"}));
  Model model = small_network();
  const std::vector<float> before = weights_of(model);
  EXPECT_EQ(failure_of<NotFoundError>([&] {
              fit(model, blobs(16),
                  {.callbacks = {keep_best(blobs(8), {.monitor = "acc"})}});
            }),
            (Failure{"unknown_name", "Evaluation"}));
  EXPECT_EQ(weights_of(model), before);
  // Two callbacks that set the final weights.
  EXPECT_THROW(
      fit(model, blobs(16),
          {.callbacks = {keep_best(blobs(8)), exponential_moving_average()}}),
      ValueError);
}

}  // namespace
}  // namespace octet::train
