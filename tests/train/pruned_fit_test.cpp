// Warnings of a fit about the zeros of a pruned network.
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/train/train.h>

#include "../facts.h"
#include "../quant/pruned_network.h"
#include "checkpoints.h"

namespace octet::train {
namespace {

using quant::pruned_int8;
using quant::pruned_network;
using quant::pruned_samples;

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(PrunedFit, WarnsOfLostZeros) {
  const auto warnings_of = [](Model model) {
    const WarningCapture kept;
    fit(model, pruned_samples(),
        {.epochs = 2, .optimizer = SGD({.learning_rate = 0.1f})});
    return kept.messages;
  };
  for (const auto& warnings : {warnings_of(pruned_network()),
                               warnings_of(pruned_int8(pruned_network()))}) {
    ASSERT_THAT(warnings, ElementsAre(Failure{"pruning_undone", "fit"}));
    EXPECT_THAT(quoted_names(warnings[0].message), ElementsAre("hidden"));
  }
  Model frozen = pruned_network();
  frozen.set_trainable("hidden", false);
  EXPECT_THAT(warnings_of(std::move(frozen)), IsEmpty());
  // The best model is the initial model.
  Model kept = pruned_network();
  const WarningCapture warnings;
  fit(kept, pruned_samples(),
      {.optimizer = SGD({.learning_rate = 100.0f}),
       .callbacks = {keep_best(pruned_samples(), {.monitor = "loss"})}});
  EXPECT_THAT(warnings.messages, IsEmpty());
}

// Momentum and weight decay update weights without gradients, too; averages and
// oscillations assign weights of their own.
TEST(PrunedFit, PreservesZeros) {
  const auto zeros_after = [](Model model, const Optimizer& optimizer,
                              const Callbacks& callbacks, int64_t accumulate) {
    const WarningCapture captured;
    fit(model, pruned_samples(),
        {.epochs = 3,
         .batch_size = 16,
         .optimizer = optimizer,
         .callbacks = callbacks,
         .accumulate = accumulate,
         .preserve_zeros = true});
    EXPECT_THAT(captured.messages, IsEmpty());
    return quant::kernel_zeros(model, false)[0].zeros;
  };
  const Model network = pruned_network();
  const Optimizer sgd =
      SGD({.learning_rate = 0.1f, .momentum = 0.9f, .weight_decay = 1e-3f});
  for (const Optimizer& optimizer :
       {sgd, Optimizer(AdamW({.learning_rate = 0.01f})),
        Optimizer(Lion({.learning_rate = 0.01f})),
        Optimizer(LAMB({.learning_rate = 0.01f}))}) {
    EXPECT_EQ(zeros_after(network.clone(), optimizer, {}, 1), 32);
  }
  EXPECT_EQ(zeros_after(network.clone(), sgd, {}, 3), 32);
  EXPECT_EQ(
      zeros_after(network.clone(), sgd, {exponential_moving_average()}, 1), 32);
  EXPECT_EQ(zeros_after(pruned_int8(network), sgd, {}, 1), 32);
  EXPECT_EQ(zeros_after(pruned_int8(network, 3), sgd,
                        {oscillations({.freeze_above = 0.02f})}, 1),
            32);
  EXPECT_EQ(zeros_after(pruned_int8(network, 3), sgd,
                        {oscillations({.damping = 0.5f})}, 1),
            32);
}

TEST(PrunedFit, ResumesWithTheSameZeros) {
  class Ended {};
  class Stopper final : public Callback {
    void on_step(const Progress& progress) override {
      if (progress.epoch == 1 && progress.step == 2) throw Ended();
    }
  };
  for (const bool quantized : {false, true}) {
    const auto network = [&] {
      return quantized ? pruned_int8(pruned_network()) : pruned_network();
    };
    const auto checkpoints = std::make_shared<MemoryCheckpoints>(1);
    const auto options = [&](bool resume) {
      return FitOptions{
          .epochs = 3,
          .batch_size = 16,
          .optimizer = SGD({.learning_rate = 0.1f, .momentum = 0.9f}),
          .checkpoints = resume ? checkpoints : nullptr,
          .resume = resume,
          .preserve_zeros = true};
    };
    Model expected = network();
    fit(expected, pruned_samples(), options(false));
    FitOptions first = options(false);
    first.checkpoints = checkpoints;
    first.callbacks = {std::make_shared<Stopper>()};
    Model ended = network();
    EXPECT_THROW(fit(ended, pruned_samples(), first), Ended);
    Model resumed = network();
    fit(resumed, pruned_samples(), options(true));
    EXPECT_EQ(weights_of(resumed), weights_of(expected));
    EXPECT_EQ(quant::kernel_zeros(resumed, false)[0].zeros, 32);
  }
}

TEST(PrunedFit, TrainsTheOtherWeights) {
  Model model = pruned_network();
  const quant::PrunedKernels pruned(model);
  Model filled = model.clone();
  fit(model, pruned_samples(), {.epochs = 5, .preserve_zeros = true});
  {
    const WarningCapture captured;
    fit(filled, pruned_samples(), {.epochs = 5});
  }
  EXPECT_THAT(pruned.filled(model), IsEmpty());
  EXPECT_THAT(pruned.filled(filled), Not(IsEmpty()));
  EXPECT_LT(evaluate(model, pruned_samples()).loss,
            evaluate(pruned_network(), pruned_samples()).loss);
}

TEST(PrunedFit, RejectsAModelWithoutPrunedKernels) {
  Model model = pruned_network();
  Variable(model.layer("hidden").parameter("kernel").variable)
      .assign(noise({8, 8}));
  EXPECT_THROW(fit(model, pruned_samples(), {.preserve_zeros = true}),
               ValueError);
}

}  // namespace
}  // namespace octet::train
