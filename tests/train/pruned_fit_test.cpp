// Warnings of a fit about the zeros of a pruned network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/train/train.h>

#include "../facts.h"
#include "../quant/pruned_network.h"

namespace octet::train {
namespace {

using quant::pruned_int8;
using quant::pruned_network;
using quant::pruned_samples;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

}  // namespace
}  // namespace octet::train
