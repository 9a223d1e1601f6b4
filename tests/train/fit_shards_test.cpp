// Training in shards: its result, independently of the number of ranks.
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "sharded_job.h"

namespace octet::train {
namespace {

/// Reference: a step of SGD by hand, with a separate model per shard.
TEST(FitShards, AddsTheGradientsOfShardsAsATree) {
  const Quiet quiet;
  constexpr size_t kShards = 4;
  constexpr int64_t kSize = 5;
  const Dataset data = blobs(kShards * kSize);
  const auto net = [] {
    const SymbolicTensor x = input({2});
    SymbolicTensor y = Dense({.units = 8, .name = "hidden"})(x);
    y = BatchNormalization({.momentum = 0.8f, .name = "bn"})(y);
    y = Dense({.units = 2, .name = "logits"})(ReLU()(y));
    return Model(x, y, {.seed = 4});
  };
  std::vector<std::vector<Tensor>> gradients;
  std::vector<std::vector<double>> means(kShards);
  const Batch batch =
      EpochLoader(data, {.batch_size = kShards * kSize, .seed = 9}).batch(0);
  for (size_t s = 0; s < kShards; ++s) {
    Model own = net();
    const int64_t first = static_cast<int64_t>(s) * kSize;
    const Batch shard(batch.input().slice(first, kSize),
                      batch.label().slice(first, kSize));
    losses::sparse_categorical_cross_entropy()(
        own(Variable(shard.input()), Mode::training), shard)
        .backward();
    auto& of_shard = gradients.emplace_back();
    for (const Variable& p : own.trainable_variables()) {
      of_shard.push_back(p.grad());
    }
    for (const float mean :
         own.layer("bn").parameter("moving_mean").variable.value().f32()) {
      means[s].push_back(mean);
    }
  }
  Model model = net();
  std::vector<Tensor> expected;
  for (const Variable& p : model.trainable_variables()) {
    expected.push_back(p.value().clone());
  }
  for (size_t p = 0; p < expected.size(); ++p) {
    const auto to = expected[p].f32();
    for (size_t i = 0; i < to.size(); ++i) {
      // Factors of a quarter are exact.
      const auto g = [&](size_t s) {
        return std::as_const(gradients[s][p]).f32()[i] * 0.25f;
      };
      to[i] -= 0.5f * ((g(0) + g(1)) + (g(2) + g(3)));
    }
  }
  fit(model, data,
      {.batch_size = kShards * kSize,
       .optimizer = SGD({.learning_rate = 0.5f}),
       .seed = 9,
       .shards = kShards});
  const auto moved = model.trainable_variables();
  for (size_t p = 0; p < moved.size(); ++p) {
    EXPECT_EQ(bits(moved[p]), bits(expected[p])) << p;
  }
  // Running statistics are the means over the shards.
  const auto mean = values(model.layer("bn").parameter("moving_mean").variable);
  for (size_t c = 0; c < mean.size(); ++c) {
    EXPECT_FLOAT_EQ(mean[c], static_cast<float>((means[0][c] + means[1][c] +
                                                 means[2][c] + means[3][c]) /
                                                4));
  }
}

TEST(FitShards, AreBitIdenticalOnAnyNumberOfRanks) {
  const Quiet quiet;
  const ShardJob job;
  const Outcome expected = job.run();
  for (const int ranks : {1, 2, 4}) job.expect_same_on(ranks, expected);
}

TEST(FitShards, AffectTheResult) {
  const Quiet quiet;
  ShardJob job;
  const Outcome four = job.run();
  job.change = [](FitOptions& options) { options.shards = 2; };
  EXPECT_NE(job.run().weights, four.weights);
  job.change = [](FitOptions& options) { options.shards = 1; };
  const Outcome one = job.run();
  job.change = [](FitOptions& options) { options.shards = {}; };
  EXPECT_EQ(job.run(), one);
}

/// All samples and weights are equal, so a gradient is the number of shards
/// whose mask retains its input.
TEST(FitShards, HaveSeparateDropoutMasks) {
  const Quiet quiet;
  const SymbolicTensor x = input({64});
  SymbolicTensor y = Dropout({.rate = 0.5f})(x);
  y = Dense({.units = 2,
             .use_bias = false,
             .kernel_initializer = zeros(),
             .name = "logits"})(y);
  Model model(x, y, {.seed = 2});
  fit(model, Dataset(Tensor::full({8, 64}, 1), Tensor::zeros({8}, DType::i64)),
      {.batch_size = 8, .optimizer = SGD(), .shards = 8});
  const auto kernel =
      values(model.layer("logits").parameter("kernel").variable);
  // A common mask would give two values, all or nothing.
  EXPECT_GT(std::set<float>(kernel.begin(), kernel.end()).size(), 6U);
}

TEST(FitShards, SupportQuantizedModels) {
  const Quiet quiet;
  for (const quant::ScaleRule rule :
       {quant::ScaleRule::fixed, quant::ScaleRule::ema,
        quant::ScaleRule::last_value, quant::ScaleRule::learned}) {
    SCOPED_TRACE(to_string(rule));
    ShardJob plain;
    plain.change = [&](FitOptions& options) {
      // Makes scales fall to their lower bound.
      if (rule == quant::ScaleRule::learned) {
        options.optimizer = SGD({.learning_rate = 5.0f});
      }
    };
    const ShardJob job = quantized_job(plain, rule);
    const Outcome expected = job.run();
    for (const int ranks : {2, 4}) job.expect_same_on(ranks, expected);
  }
}

/// The largest magnitude of a batch is the maximum over its shards.
TEST(FitShards, UpdateRunningScalesAsTheWholeBatch) {
  const Quiet quiet;
  const auto scale_of = [](int64_t shards) {
    Model model = quant::quantize_model(
        small_network(), {.activation = {.rule = quant::ScaleRule::ema}});
    fit(model, blobs(32), {.batch_size = 32, .seed = 1, .shards = shards});
    return quant::quantizers(model)[0]->scale();
  };
  ASSERT_TRUE(scale_of(1).has_value());
  EXPECT_EQ(scale_of(8), scale_of(1));
}

TEST(FitShards, RejectInvalidSetups) {
  const auto error = [](const FitOptions& options) {
    Model model = small_network();
    return failure_of<ValueError>([&] { fit(model, blobs(64), options); });
  };
  EXPECT_EQ(error({.shards = 0}), (Failure{"out_of_range", "fit"}));
  EXPECT_EQ(error({.shards = 6}), (Failure{"out_of_range", "fit"}));
  EXPECT_EQ(error({.batch_size = 20, .shards = 8}),
            (Failure{"invalid_value", "fit"}));
  EXPECT_EQ(error({.shards = 128}), (Failure{"out_of_range", "fit"}));
  on_ranks(3, [&](Communicator& rank) {
    EXPECT_EQ(error({.communicator = &rank}),
              (Failure{"invalid_value", "fit"}));
  });
  on_ranks(8, [&](Communicator& rank) {
    EXPECT_EQ(error({.communicator = &rank}), (Failure{"out_of_range", "fit"}));
  });
  Model observing = quant::quantize_model(small_network());
  quant::calibrate(observing, blobs(32));
  quant::quantizers(observing)[0]->start_observing({});
  EXPECT_EQ(
      failure_of<ValueError>([&] { fit(observing, blobs(64), {.shards = 2}); }),
      (Failure{"invalid_state", "quantizer 'input_layer'"}));
}

}  // namespace
}  // namespace octet::train
