// Interleaved shards, with the statistics of the whole batch.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "sharded_job.h"

namespace octet::train {
namespace {

ShardJob synchronized_job() {
  ShardJob job;
  job.change = [](FitOptions& options) {
    options.batch_statistics = BatchStatistics::synchronized;
  };
  return job;
}

/// Two batch normalizations, one after an addition; no random layers.
Model plain_network() {
  const SymbolicTensor x = input({6, 5, 1});
  SymbolicTensor y = Conv2D({.filters = 5, .kernel_size = 3})(x);
  const SymbolicTensor first =
      ReLU()(BatchNormalization({.momentum = 0.8f, .name = "bn1"})(y));
  y = Conv2D({.filters = 5, .kernel_size = 3, .padding = Padding::same})(first);
  y = BatchNormalization({.momentum = 0.8f, .name = "bn2"})(y);
  y = ReLU()(Add()(std::vector{y, first}));
  y = Dense({.units = 2, .name = "logits"})(Flatten()(y));
  return Model(x, y, {.seed = 3});
}

double largest_difference(const std::vector<float>& a,
                          const std::vector<float>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(double{a[i]} - double{b[i]}));
  }
  return a.size() == b.size() ? largest : INFINITY;
}

/// Equals training with whole batches up to rounding.
TEST(FitSynchronized, MatchesTheWholeBatch) {
  const Quiet quiet;
  const auto weights = [](int64_t shards, BatchStatistics statistics) {
    Model model = plain_network();
    // 50 = 3 * 16 + 2: some shards of the last batch are empty.
    fit(model, images(50, 1),
        {.epochs = 2,
         .batch_size = 16,
         .optimizer = SGD({.learning_rate = 0.1f, .momentum = 0.9f}),
         .seed = 5,
         .clip_norm = 0.5f,
         .accumulate = 2,
         .shards = shards,
         .batch_statistics = statistics});
    return weights_of(model);
  };
  const std::vector<float> whole = weights(1, BatchStatistics::per_shard);
  EXPECT_EQ(weights(1, BatchStatistics::synchronized), whole);
  for (const int64_t shards : {2, 4, 8, 16}) {
    EXPECT_LT(largest_difference(weights(shards, BatchStatistics::synchronized),
                                 whole),
              2e-5)
        << shards;
    EXPECT_GT(
        largest_difference(weights(shards, BatchStatistics::per_shard), whole),
        1e-2)
        << shards;
  }
}

TEST(FitSynchronized, IsBitIdenticalOnAnyNumberOfRanks) {
  const Quiet quiet;
  for (const auto& network : {shard_network, plain_network}) {
    ShardJob job = synchronized_job();
    job.model = network;
    const Outcome expected = job.run();
    for (const int ranks : {1, 2, 4}) job.expect_same_on(ranks, expected);
  }
}

TEST(FitSynchronized, SupportsQuantizedModels) {
  const Quiet quiet;
  for (const quant::ScaleRule rule :
       {quant::ScaleRule::fixed, quant::ScaleRule::ema,
        quant::ScaleRule::last_value, quant::ScaleRule::learned}) {
    SCOPED_TRACE(to_string(rule));
    ShardJob plain = synchronized_job();
    // With a residual connection around a normalization.
    plain.model = plain_network;
    const ShardJob job = quantized_job(plain, rule);
    const Outcome expected = job.run();
    for (const int ranks : {2, 4}) job.expect_same_on(ranks, expected);
  }
}

/// After a step from the same weights, scales equal those of the whole batch.
TEST(FitSynchronized, UpdatesRunningScalesFromTheWholeBatch) {
  const Quiet quiet;
  const auto scales = [](int64_t shards, BatchStatistics statistics) {
    Model model = quant::quantize_model(
        plain_network(), {.activation = {.rule = quant::ScaleRule::ema}});
    fit(model, images(16, 1),
        {.batch_size = 16,
         .seed = 1,
         .shards = shards,
         .batch_statistics = statistics});
    std::vector<float> result;
    for (const auto& quantizer : quant::quantizers(model)) {
      if (quantizer->config().rule != quant::ScaleRule::ema) continue;
      result.push_back(quantizer->scale().value_or(0));
    }
    return result;
  };
  const auto whole = scales(1, BatchStatistics::per_shard);
  ASSERT_GT(whole.size(), 2U);
  EXPECT_LT(largest_difference(scales(4, BatchStatistics::synchronized), whole),
            1e-7);
}

TEST(FitSynchronized, ResumesOnAnotherNumberOfRanks) {
  const Quiet quiet;
  const ShardJob job = synchronized_job();
  const Outcome expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  ShardJob saving = job;
  saving.change = [&](FitOptions& options) {
    job.change(options);
    options.checkpoints = checkpoints;
    options.resume = true;
  };
  saving.expect_same_on(4, expected);
  const std::vector<TrainingState> states = checkpoints->states;
  checkpoints->states = {states[states.size() / 2]};
  saving.expect_same_on(2, expected);
  checkpoints->states = {states[2]};
  ShardJob other = saving;
  other.change = [&](FitOptions& options) {
    saving.change(options);
    options.batch_statistics = BatchStatistics::per_shard;
  };
  EXPECT_EQ(failure_of<ValueError>([&] { other.run(); }),
            (Failure{"conflicting_options", "checkpoint"}));
  // A rank with a different setting is detected.
  on_ranks(2, [&](Communicator& rank) {
    ShardJob own = job;
    if (rank.rank() == 1) own.change = [](FitOptions&) {};
    EXPECT_EQ(failure_of<ValueError>([&] { own.run(&rank); }),
              (Failure{"conflicting_options", "fit"}));
  });
}

/// Uses its parameter only for samples above a bound.
class Routed final : public Layer {
 public:
  std::string class_name() const override { return "Routed"; }
  Config config() const override { return Config(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  void build(std::span<const Shape>) override {
    expert_ = add_parameter("expert", {2}, {.initializer = ones()});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (absmax(inputs[0].value()) < 50) return inputs[0];
    return multiply(inputs[0], context.read(at(expert_)));
  }

 private:
  size_t expert_ = 0;
};

/// Only the last shard has a gradient of the parameter.
TEST(FitShards, UseAGradientOfASingleShard) {
  const Quiet quiet;
  Tensor inputs({16, 2});
  Rng(1).fill_normal(inputs, 0, 1);
  inputs.f32()[31] = 99;
  const Dataset data(inputs, Tensor::zeros({16}, DType::i64));
  const auto trained = [&](Communicator* ranks) {
    const SymbolicTensor x = input({2});
    SymbolicTensor y = LayerHandle(std::make_shared<Routed>())(x);
    y = Dense({.units = 3})(y);
    Model model(x, Dense({.units = 2})(y), {.seed = 1});
    fit(model, data,
        {.epochs = 3,
         .batch_size = 16,
         .optimizer = SGD({.learning_rate = 1e-3f}),
         .shards = 4,
         .communicator = ranks});
    return weights_of(model);
  };
  const std::vector<float> expected = trained(nullptr);
  EXPECT_NE(expected[0], 1.0f);
  for (const int count : {2, 4}) {
    on_ranks(count,
             [&](Communicator& rank) { EXPECT_EQ(trained(&rank), expected); });
  }
}

/// Throws during the forward pass of the shard that contains the value.
class Refuses final : public Layer {
 public:
  std::string class_name() const override { return "Refuses"; }
  Config config() const override { return Config(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    if (refuses && absmax(inputs[0].value()) > 50) {
      throw ValueError("out_of_range", "value", "too large");
    }
    return inputs[0];
  }
  mutable bool refuses = true;
};

TEST(FitSynchronized, ThrowsErrorsOfAShardOnAllRanks) {
  const Quiet quiet;
  for (const int count : {1, 2}) {
    on_ranks(count, [&](Communicator& rank) {
      const auto layer = std::make_shared<Refuses>();
      const SymbolicTensor x = input({2});
      SymbolicTensor y = BatchNormalization({.name = "bn"})(x);
      y = Add()(std::vector{y, LayerHandle(layer)(x)});
      y = BatchNormalization({.name = "bn2"})(y);
      Model model(x, Dense({.units = 2})(y), {.seed = 1});
      Tensor inputs({16, 2});
      Rng(1).fill_normal(inputs, 0, 1);
      inputs.f32()[11] = 99;
      const Dataset data(inputs, Tensor::zeros({16}, DType::i64));
      const FitOptions options{
          .batch_size = 16,
          .shards = 4,
          .batch_statistics = BatchStatistics::synchronized,
          .communicator = &rank};
      EXPECT_EQ(failure_of<ValueError>([&] { fit(model, data, options); }),
                (Failure{"out_of_range", "value"}));
      // The model can be trained afterwards.
      layer->refuses = false;
      EXPECT_NO_THROW(fit(model, data, options));
    });
  }
}

}  // namespace
}  // namespace octet::train
