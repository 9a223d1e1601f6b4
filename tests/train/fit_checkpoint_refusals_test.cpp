// Checkpoints that fit rejects or cannot save.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../support.h"
#include "checkpointed_fit.h"

namespace octet::train {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;

/// Returns the error of a fit that resumes from states of `Job()`; the model
/// must stay unchanged.
Failure refusal(const Job& job, Model model) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  Job original;
  original.log = job.log;
  original.run(checkpoints);
  checkpoints->states.resize(6);
  const std::string log = read_file(job.log);
  const std::vector<float> before = weights_of(model);
  FitOptions options = job.options();
  options.checkpoints = checkpoints;
  options.resume = true;
  Failure failure =
      failure_of<ValueError>([&] { fit(model, job.data, options); });
  EXPECT_EQ(weights_of(model), before);
  EXPECT_EQ(checkpoints->states.size(), 6u);
  EXPECT_EQ(read_file(job.log), log);
  return failure;
}

Failure refusal(const std::function<void(FitOptions&)>& change) {
  Job job;
  job.change = change;
  return refusal(job, job.model());
}

/// Expects that a checkpoint differs from the fit in `difference`.
void expect_difference(const Failure& failure, const std::string& difference) {
  EXPECT_EQ(failure, (Failure{"conflicting_options", "checkpoint"}));
  EXPECT_THAT(failure.message, HasSubstr(difference));
  EXPECT_THAT(failure.context, Contains("in the checkpoints of 'memory'"));
}

TEST(FitCheckpoints, OfOtherOptionsAreRejectedWithTheDifferences) {
  expect_difference(
      refusal([](FitOptions& options) { options.batch_size = 10; }),
      "batch_size: 8 in the checkpoint, 10 in this fit");
  expect_difference(
      refusal([](FitOptions& options) { options.optimizer = SGD(); }),
      "optimizer class_name");
  expect_difference(refusal([](FitOptions& options) {
                      options.optimizer =
                          Adam({.learning_rate = 0.5f, .weight_decay = 1e-3f});
                    }),
                    "optimizer learning_rate");
  expect_difference(refusal([](FitOptions& options) { options.seed = 6; }),
                    "seed");
  expect_difference(
      refusal([](FitOptions& options) { options.accumulate = 1; }),
      "accumulate");
  EXPECT_EQ(refusal([](FitOptions& options) {
              options.loss = losses::categorical_cross_entropy();
              options.metrics = {metrics::accuracy()};
            }),
            (Failure{"dtype_mismatch", "fit"}));
}

TEST(FitCheckpoints, OfOtherCallbacksAreRejected) {
  expect_difference(refusal([](FitOptions& options) {
                      options.callbacks.erase(options.callbacks.begin());
                    }),
                    "callbacks: ['early_stopping', 'reduce_on_plateau'");
}

TEST(FitCheckpoints, OfAnotherScheduleOrFewerEpochsAreRejected) {
  expect_difference(
      refusal([](FitOptions& options) { options.schedule = constant(); }),
      "schedule");
  expect_difference(refusal([](FitOptions& options) { options.epochs = 5; }),
                    "schedule");
  EXPECT_EQ(refusal([](FitOptions& options) { options.epochs = 1; }),
            (Failure{"out_of_range", "checkpoint"}));
}

TEST(FitCheckpoints, OfOtherDataAreRejected) {
  Job job;
  job.data = images(51, 1);
  expect_difference(refusal(job, job.model()), "data samples");
  job.data = images(50, 9);
  expect_difference(refusal(job, job.model()), "first batch");
  job.data = images(50, 1);
  job.validation = images(20, 8);
  expect_difference(refusal(job, job.model()), "first validation sample");
  expect_difference(
      refusal([](FitOptions& options) { options.augmentation.pop_back(); }),
      "first batch");
}

Model calibrated(const Model& model) {
  Model result = quant::quantize_model(model);
  for (const auto& q : quant::quantizers(result)) {
    if (!q->calibrated()) q->set_scale(1);
  }
  return result;
}

TEST(FitCheckpoints, OfAnotherModelAreRejected) {
  const Job job;
  const SymbolicTensor image = input({6, 5, 1}, "image");
  const SymbolicTensor x =
      ReLU({.name = "relu"})(Conv2D({.filters = 5, .name = "conv"})(image));
  Model other(
      image,
      Dense({.units = 2, .name = "logits"})(Flatten({.name = "flat"})(x)),
      {.seed = 3});
  expect_difference(refusal(job, std::move(other)),
                    "layers 'conv' config filters");
  expect_difference(refusal(job, image_network(4)), "seed of the model");
  expect_difference(refusal(job, calibrated(image_network())), "quantizers");
  Model trained = image_network();
  Variable kernel = trained.layer("conv").parameters()[0].variable;
  kernel.assign(Tensor::full(kernel.shape(), 0.5f));
  expect_difference(refusal(job, std::move(trained)), "weights before the fit");
  Model frozen = image_network();
  frozen.layer("norm").set_trainable(false);
  expect_difference(refusal(job, std::move(frozen)),
                    "parameters: ['conv/kernel");
}

TEST(FitCheckpoints, AreNotOverwrittenWithoutResume) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.run(checkpoints);
  const size_t count = checkpoints->states.size();
  EXPECT_EQ(failure_of<ValueError>([&] { job.run(checkpoints); }),
            (Failure{"invalid_state", "fit"}));
  EXPECT_EQ(checkpoints->states.size(), count);
}

TEST(FitCheckpoints, AreRequiredToResume) {
  Job job;
  job.change = [](FitOptions& options) { options.resume = true; };
  Model model = job.model();
  EXPECT_EQ(
      failure_of<ValueError>([&] { fit(model, job.data, job.options()); }),
      (Failure{"missing_value", "fit"}));
}

TEST(FitCheckpoints, AreLockedByAFit) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  const auto other = checkpoints->claim();
  const Job job;
  EXPECT_EQ(failure_of<IoError>([&] { job.run(checkpoints); }),
            (Failure{"invalid_state", "memory"}));
  EXPECT_TRUE(checkpoints->empty());
}

/// Simulates a full disk from a given step on.
class Filler final : public Callback {
 public:
  Filler(MemoryCheckpoints& place, bool full) : place_(place), full_(full) {}
  void on_epoch_end(const Progress&) override { place_.full = full_; }

 private:
  MemoryCheckpoints& place_;
  bool full_;
};

TEST(FitCheckpoints, WarnIfALaterStateCannotBeSaved) {
  Job job;
  const Job::Result expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.change = [&](FitOptions& options) {
    options.callbacks.push_back(std::make_shared<Filler>(*checkpoints, true));
  };
  const WarningCapture warnings;
  EXPECT_EQ(job.run(checkpoints), expected);
  EXPECT_EQ(checkpoints->states.size(), 4u);  // initial state, three steps
  ASSERT_EQ(warnings.messages.size(), 13u);   // all others
  EXPECT_THAT(warnings.messages, Each(Failure{"checkpoint_not_saved", "fit"}));
}

TEST(FitCheckpoints, ThrowIfTheFirstStateCannotBeSaved) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  checkpoints->full = true;
  EXPECT_EQ(failure_of<IoError>([&] { job.run(checkpoints); }),
            (Failure{"cannot_write", "memory"}));
}

}  // namespace
}  // namespace octet::train
