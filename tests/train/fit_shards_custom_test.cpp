// Custom losses and update rules in shards, and unsupported cases.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/train/train.h>

#include "../facts.h"
#include "blobs.h"
#include "custom_job.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;

Variable class_loss(const Variable& y, const Batch& batch) {
  return softmax_cross_entropy(y, batch.label(), {},
                               {.reduction = Reduction::none});
}

MakeLayer dropout() {
  return [] { return Dropout({.rate = 0.3f}).layer(); };
}

/// As in R-Drop: two passes with different dropout masks.
TEST(FitShardsLosses, MayRunTheModelAgain) {
  const Quiet quiet;
  const auto twice = [](FitOptions& options, Model& model) {
    options.loss = Loss("twice", [&](const Variable& y, const Batch& batch) {
      const Variable again = model(batch.input(), Mode::training);
      return add(class_loss(y, batch), class_loss(again, batch));
    });
  };
  expect_equal_ranks(dropout(), twice);
  expect_equal_ranks(dropout(), [&](FitOptions& options, Model& model) {
    twice(options, model);
    per_shard(options, model);
  });
}

/// The loss synchronizes the shards after the forward pass.
TEST(FitShardsLosses, MaySumOverTheWholeBatch) {
  const Quiet quiet;
  const MakeLayer make = [] {
    return ActivityRegularization({.l2 = 0.1f}).layer();
  };
  expect_equal_ranks(make, [](FitOptions& options, Model&) {
    options.loss = Loss("met", [](const Variable& y, const Batch& batch) {
      std::vector<double> samples{static_cast<double>(batch.size())};
      if (CrossShardReduction* parts = cross_shard_reduction())
        parts->sum(samples);
      return scale_shift(class_loss(y, batch),
                         1 + 1 / static_cast<float>(samples[0]));
    });
  });
}

TEST(FitShardsLosses, RejectBackwardInALoss) {
  const Quiet quiet;
  const auto penalty = [](FitOptions& options, Model& model) {
    per_shard(options, model);
    options.loss = Loss("penalty", [&](const Variable& y, const Batch& batch) {
      mean(square(model(batch.input(), Mode::training))).backward();
      return class_loss(y, batch);
    });
  };
  expect_refusal<UnsupportedError>({"unsupported_layer", "parameter 'kernel'"},
                                   dropout(), penalty);
}

/// Throws for small tensors.
class Choosy final : public UpdateRule {
 public:
  int slots() const override { return 0; }
  float learning_rate() const override { return 1e-3f; }
  void update(std::span<float> value, std::span<const float> gradient,
              std::span<Tensor>, float rate, int64_t) const override {
    if (value.size() == 2)
      throw ValueError("invalid_shape", "update rule", "small");
    for (size_t i = 0; i < value.size(); ++i) value[i] -= rate * gradient[i];
  }
};

TEST(FitShardsOptimizer, ThrowsOnAllRanks) {
  const Quiet quiet;
  expect_refusal<ValueError>({"invalid_shape", "update rule"}, dropout(),
                             [](FitOptions& options, Model&) {
                               options.optimizer =
                                   Optimizer(std::make_shared<Choosy>());
                             });
}

TEST(FitShards, RequireTwoSamplesForTheirStatistics) {
  const auto with_shards = [](int64_t batch, int64_t shards) {
    Model model = network_with(dropout());
    fit(model, blobs(18),
        {.batch_size = batch, .verbose = false, .shards = shards});
  };
  EXPECT_EQ(failure_of<ValueError>([&] { with_shards(8, 8); }),
            (Failure{"out_of_range", "fit"}));
  const WarningCapture kept;
  with_shards(16, 4);
  ASSERT_THAT(kept.messages, ElementsAre(Failure{"small_batch", "fit"},
                                         Failure{"initial_statistics", "fit"}));
  EXPECT_THAT(numbers_in(without_hint(kept.messages[0].message)),
              ElementsAre(2, 4));
}

/// A shard of zeros has no range.
TEST(FitShards, UpdateRunningScalesFromNonzeroShards) {
  const Quiet quiet;
  Tensor inputs = Tensor::zeros({16, 2});
  for (size_t i = 0; i < 8; ++i) inputs.f32()[i] = 1;
  const Dataset data(inputs, Tensor::zeros({16}, DType::i64));
  const auto scale_of = [&](int64_t shards, Communicator* ranks = nullptr) {
    const SymbolicTensor x = input({2});
    Model model = quant::quantize_model(
        Model(x, Dense({.units = 2})(x), {.seed = 1}),
        {.activation = {.rule = quant::ScaleRule::last_value}});
    const auto scales = quant::quantizers(model);
    const auto found = std::ranges::find_if(
        scales, [](const auto& each) { return each->config().follows(); });
    (*found)->set_scale(5);
    fit(model, data,
        {.batch_size = 16, .shards = shards, .communicator = ranks});
    return (*found)->scale().value();
  };
  const float whole = scale_of(1);
  EXPECT_NEAR(whole, 1.0 / 127, 1e-6);
  EXPECT_EQ(scale_of(8), whole);
  on_ranks(2,
           [&](Communicator& rank) { EXPECT_EQ(scale_of(8, &rank), whole); });
}

TEST(FitShards, RejectAveragedStatistics) {
  const SymbolicTensor x = input({2});
  Model model(x, Dense({.units = 2})(BatchNormalization({.name = "bn"})(x)));
  model.layer("bn").average_statistics(true);
  const FitOptions options{.batch_size = 16, .shards = 4};
  EXPECT_EQ(failure_of<ValueError>([&] { fit(model, blobs(16), options); }),
            (Failure{"invalid_state", "layer 'bn'"}));
  model.layer("bn").average_statistics(false);
  EXPECT_NO_THROW(fit(model, blobs(16), options));
}

}  // namespace
}  // namespace octet::train
