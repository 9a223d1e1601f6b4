// What fit says of checkpoints that are not its own, or that it cannot have.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpointed_fit.h"

namespace octet::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// What a fit says of the states of `Job()`; the model must stay as it was.
std::string refusal(const Job& job, Model model) {
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
  std::string text =
      error_of<ValueError>([&] { fit(model, job.data, options); });
  EXPECT_EQ(weights_of(model), before);
  EXPECT_EQ(checkpoints->states.size(), 6u);
  EXPECT_EQ(read_file(job.log), log);
  return text;
}

std::string refusal(const std::function<void(FitOptions&)>& change) {
  Job job;
  job.change = change;
  return refusal(job, job.model());
}

TEST(FitCheckpoints, OfOtherOptionsAreRefusedWithWhatDiffers) {
  const std::string text =
      refusal([](FitOptions& options) { options.batch_size = 10; });
  EXPECT_THAT(text,
              AllOf(HasSubstr("checkpoint: expected one of this model, data "
                              "and options, got another (fit batch_size: 8 "
                              "there, 10 here"),
                    HasSubstr("in the checkpoints of 'memory'")));
  EXPECT_THAT(refusal([](FitOptions& options) { options.optimizer = SGD(); }),
              HasSubstr("fit optimizer class_name: 'Adam' there, 'SGD' here"));
  EXPECT_THAT(refusal([](FitOptions& options) {
                options.optimizer =
                    Adam({.learning_rate = 0.5f, .weight_decay = 1e-3f});
              }),
              HasSubstr("fit optimizer learning_rate: 0.0"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.seed = 6; }),
              HasSubstr("fit seed: 5 there, 6 here"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.accumulate = 1; }),
              HasSubstr("fit accumulate: 2 there, 1 here"));
  EXPECT_THAT(refusal([](FitOptions& options) {
                options.loss = losses::categorical_cross_entropy();
                options.metrics = {metrics::accuracy()};
              }),
              HasSubstr("expected labels"));
}

TEST(FitCheckpoints, OfOtherCallbacksAreRefused) {
  EXPECT_THAT(
      refusal([](FitOptions& options) {
        options.callbacks.erase(options.callbacks.begin());
      }),
      AllOf(HasSubstr("fit callbacks: ['early_stopping', 'reduce_on_plateau'"),
            HasSubstr("there, ['reduce_on_plateau', 'csv_log', "
                      "'freeze_batch_norm'] here")));
}

TEST(FitCheckpoints, OfAnotherScheduleOrFewerEpochsAreRefused) {
  EXPECT_THAT(
      refusal([](FitOptions& options) { options.schedule = constant(); }),
      HasSubstr("expected one of this schedule over 4 epochs, got one whose "
                "first 5 steps had other factors"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.epochs = 5; }),
              HasSubstr("expected one of this schedule over 5 epochs"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.epochs = 1; }),
              HasSubstr("expected one within 1 epochs, got one of epoch 2"));
}

TEST(FitCheckpoints, OfOtherDataAreRefused) {
  Job job;
  job.data = images(51, 1);
  EXPECT_THAT(refusal(job, job.model()),
              HasSubstr("fit data samples: 50 there, 51 here"));
  job.data = images(50, 9);
  EXPECT_THAT(refusal(job, job.model()),
              HasSubstr("fit data digest of the first batch: "));
  job.data = images(50, 1);
  job.validation = images(20, 8);
  EXPECT_THAT(refusal(job, job.model()),
              HasSubstr("fit data digest of the first validation sample: "));
  EXPECT_THAT(
      refusal([](FitOptions& options) { options.augmentation.pop_back(); }),
      HasSubstr("fit data digest of the first batch: "));
}

Model calibrated(const Model& model) {
  Model result = quant::quantize_model(model);
  for (const auto& q : quant::quantizers(result)) {
    if (!q->calibrated()) q->set_scale(1);
  }
  return result;
}

TEST(FitCheckpoints, OfAnotherModelAreRefused) {
  const Job job;
  const SymbolicTensor image = input({6, 5, 1}, "image");
  const SymbolicTensor x =
      ReLU({.name = "relu"})(Conv2D({.filters = 5, .name = "conv"})(image));
  Model other(
      image,
      Dense({.units = 2, .name = "logits"})(Flatten({.name = "flat"})(x)),
      {.seed = 3});
  EXPECT_THAT(refusal(job, std::move(other)),
              AllOf(HasSubstr("model layers 'conv' config filters: 4 there, 5 "
                              "here"),
                    HasSubstr("model layers 'norm': "), HasSubstr(" more)")));
  EXPECT_THAT(refusal(job, image_network(4)),
              HasSubstr("model seed of the model: 3 there, 4 here"));
  EXPECT_THAT(refusal(job, calibrated(image_network())),
              HasSubstr("model quantizers: nothing there, "));
  Model trained = image_network();
  Variable kernel = trained.layer("conv").parameters()[0].variable;
  kernel.assign(Tensor::full(kernel.shape(), 0.5f));
  EXPECT_THAT(refusal(job, std::move(trained)),
              HasSubstr("fit digest of the weights before the fit: "));
  Model frozen = image_network();
  frozen.layer("norm").set_trainable(false);
  EXPECT_THAT(refusal(job, std::move(frozen)),
              HasSubstr("fit parameters: ['conv/kernel"));
}

TEST(FitCheckpoints, AreNotOverwrittenWithoutResume) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.run(checkpoints);
  const size_t count = checkpoints->states.size();
  EXPECT_THAT(error_of<ValueError>([&] { job.run(checkpoints); }),
              HasSubstr("fit: expected no checkpoints of another fit in "
                        "'memory', got some. Hint: say resume = true"));
  EXPECT_EQ(checkpoints->states.size(), count);
}

TEST(FitCheckpoints, AreWantedWhereAFitIsToResume) {
  Job job;
  job.change = [](FitOptions& options) { options.resume = true; };
  Model model = job.model();
  EXPECT_THAT(
      error_of<ValueError>([&] { fit(model, job.data, job.options()); }),
      HasSubstr("fit: expected checkpoints to resume from, got none"));
}

TEST(FitCheckpoints, BelongToOneFitAtATime) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  const auto other = checkpoints->claim();
  const Job job;
  EXPECT_THAT(error_of<IoError>([&] { job.run(checkpoints); }),
              HasSubstr("expected no other fit"));
  EXPECT_TRUE(checkpoints->empty());
}

/// Lets a place run full at a step.
class Filler final : public Callback {
 public:
  Filler(MemoryCheckpoints& place, bool full) : place_(place), full_(full) {}
  void on_epoch_end(const Progress&) override { place_.full = full_; }

 private:
  MemoryCheckpoints& place_;
  bool full_;
};

TEST(FitCheckpoints, ThatCannotBeSavedLaterAreAWarning) {
  Job job;
  const Job::Result expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.change = [&](FitOptions& options) {
    options.callbacks.push_back(std::make_shared<Filler>(*checkpoints, true));
  };
  const WarningsKept warnings;
  EXPECT_EQ(job.run(checkpoints), expected);
  EXPECT_EQ(checkpoints->states.size(), 4u);  // the beginning, three steps
  ASSERT_EQ(warnings.messages.size(), 13u);   // all others
  EXPECT_THAT(warnings.messages[0],
              HasSubstr("fit: cannot save a checkpoint, going on without it: "
                        "memory: cannot write"));
}

TEST(FitCheckpoints, ThatCannotBeSavedAtFirstEndTheFit) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  checkpoints->full = true;
  EXPECT_THAT(error_of<IoError>([&] { job.run(checkpoints); }),
              HasSubstr("no space left"));
}

}  // namespace
}  // namespace octet::train
