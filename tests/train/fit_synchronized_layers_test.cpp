// Custom layers with interleaved shards.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "custom_job.h"

namespace octet::train {
namespace {

class OwnLayer : public Layer {
 public:
  Config config() const override { return Config(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
};

/// Subtracts the running mean of all values, computed per shard or over the
/// whole batch.
class Centre final : public OwnLayer {
 public:
  explicit Centre(bool synchronized, bool trainable = false)
      : synchronized_(synchronized), trainable_(trainable) {}
  std::string class_name() const override { return "Centre"; }
  void build(std::span<const Shape>) override {
    mean_ = add_parameter("mean", {1}, {.trainable = trainable_});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable& mean = at(mean_).variable;
    if (context.training) {
      std::vector<double> sums{0, 0};
      for (const float x : inputs[0].value().f32()) {
        sums[0] += x;
        ++sums[1];
      }
      CrossShardReduction* const parts =
          synchronized_ ? cross_shard_reduction() : nullptr;
      if (parts != nullptr) parts->sum(sums);
      if (parts == nullptr || parts->first()) {
        mean.mutable_value()[0] = static_cast<float>(sums[0] / sums[1]);
      }
    }
    return subtract(inputs[0], mean.detach());
  }

 private:
  bool synchronized_;
  bool trainable_;
  size_t mean_ = 0;
};

/// Adds a regularization loss that depends on its values.
class Penalty final : public OwnLayer {
 public:
  std::string class_name() const override { return "Penalty"; }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    if (context.training) {
      const auto samples = static_cast<float>(x.shape()[0]);
      context.regularization_losses->push_back(
          scale_shift(sum(multiply(x, x)), 0.1f / samples));
    }
    return x;
  }
};

/// Calls a batch normalization without gradients and another without deferred
/// expressions: their guards are active while a shard waits for the others.
class Guarded final : public OwnLayer {
 public:
  std::string class_name() const override { return "Guarded"; }
  void build(std::span<const Shape>) override {
    mean_ = add_parameter("mean", {3}, {.trainable = false});
    variance_ = add_parameter("variance", {3}, {.trainable = false});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    if (!context.training) return x;
    const Variable fixed = [&] {
      const NoGradGuard no_grad;
      return normalized(x);
    }();
    EXPECT_TRUE(grad_enabled());
    const EagerGuard eager;
    return add(normalized(x), fixed);
  }

 private:
  Variable normalized(const Variable& x) const {
    const auto mean = at(mean_).variable.mutable_value();
    const auto variance = at(variance_).variable.mutable_value();
    return batch_norm_training(x, {}, {}, mean, variance, 0.9f, 1e-3f);
  }

  size_t mean_ = 0;
  size_t variance_ = 0;
};

/// Compares with the whole batch, and ranks with a single process bit by bit.
void expect_whole_batch(const MakeLayer& make) {
  const std::vector<float> whole = trained(make, 1);
  const std::vector<float> expected = trained(make, 4);
  ASSERT_EQ(expected.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(expected[i], whole[i], 2e-5) << i;
  }
  expect_equal_ranks(make, [](FitOptions&, Model&) {});
}

TEST(FitSynchronizedLayers, ComputeStatisticsOverTheWholeBatch) {
  const Quiet quiet;
  expect_whole_batch([] { return std::make_shared<Centre>(true); });
}

TEST(FitSynchronizedLayers, RejectStatisticsThatChangeWithEachShard) {
  const Quiet quiet;
  const MakeLayer make = [] { return std::make_shared<Centre>(false); };
  for (const int count : {1, 2, 4}) {
    on_ranks(count, [&](Communicator& rank) {
      EXPECT_EQ(
          failure_of<UnsupportedError>([&] { (void)trained(make, 4, &rank); }),
          (Failure{"unsupported_layer", "parameter 'mean'"}))
          << count;
    });
  }
}

/// A frozen custom layer may change its statistics.
TEST(FitSynchronizedLayers, MayChangeFrozenStatistics) {
  const Quiet quiet;
  for (const bool synchronized : {false, true}) {
    const MakeLayer make = [=] {
      const auto layer = std::make_shared<Centre>(synchronized);
      layer->set_trainable(false);
      return layer;
    };
    expect_equal_ranks(make, per_shard);
    if (synchronized) {
      expect_whole_batch(make);
      continue;
    }
    EXPECT_EQ(failure_of<UnsupportedError>([&] { (void)trained(make, 4); }),
              (Failure{"unsupported_layer", "parameter 'mean'"}));
  }
}

TEST(FitShardsLayers, RejectAForwardPassThatChangesAParameter) {
  const Quiet quiet;
  const MakeLayer make = [] { return std::make_shared<Centre>(true, true); };
  for (const Change& change :
       {Change(per_shard), Change([](auto&, auto&) {})}) {
    expect_refusal<UnsupportedError>({"unsupported_layer", "parameter 'mean'"},
                                     make, change);
  }
}

/// Runs a private model in training mode, as Keras' self.bn = ... would.
class Inside final : public OwnLayer {
 public:
  Inside() {
    const SymbolicTensor x = input({3});
    inner_.emplace(x, BatchNormalization()(Dense({.units = 3})(x)));
  }
  std::string class_name() const override { return "Inside"; }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    if (inputs[0].shape()[-1] != 3 || !context.training) return inputs[0];
    return (*inner_)(inputs[0], Mode::training);
  }

 private:
  mutable std::optional<Model> inner_;
};

TEST(FitShardsLayers, RejectTrainingPassesOfAnotherModel) {
  const Quiet quiet;
  const MakeLayer make = [] { return std::make_shared<Inside>(); };
  for (const Change& change :
       {Change(per_shard), Change([](auto&, auto&) {})}) {
    expect_refusal<UnsupportedError>({"invalid_state", "model 'model'"}, make,
                                     change);
  }
}

TEST(FitSynchronizedLayers, AddRegularizationLosses) {
  const Quiet quiet;
  expect_whole_batch([] { return std::make_shared<Penalty>(); });
  expect_whole_batch(
      [] { return ActivityRegularization({.l1 = 0.05f, .l2 = 0.1f}).layer(); });
}

TEST(FitSynchronizedLayers, HaveTheirOwnThreadModes) {
  const Quiet quiet;
  // Both have three channels.
  const auto train = [](int64_t shards, Communicator* ranks = nullptr) {
    const SymbolicTensor x = input({2});
    SymbolicTensor y =
        LayerHandle(std::make_shared<Guarded>())(Dense({.units = 3})(x));
    y = Dense({.units = 2})(BatchNormalization()(y));
    Model model(x, y, {.seed = 1});
    fit(model, blobs(16),
        {.epochs = 2,
         .batch_size = 16,
         .optimizer = SGD({.learning_rate = 0.1f}),
         .shards = shards,
         .batch_statistics = BatchStatistics::synchronized,
         .communicator = ranks});
    return weights_of(model);
  };
  const std::vector<float> whole = train(1);
  const std::vector<float> expected = train(4);
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(expected[i], whole[i], 2e-5) << i;
  }
  EXPECT_TRUE(grad_enabled());
  on_ranks(2,
           [&](Communicator& rank) { EXPECT_EQ(train(4, &rank), expected); });
}

/// Selects a normalization by its input values.
class Chooses final : public OwnLayer {
 public:
  std::string class_name() const override { return "Chooses"; }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    const Variable& x = inputs[0];
    if (!context.training || absmax(x.value()) < 50) return x;
    std::vector<float> mean(2);
    std::vector<float> variance(2);
    return batch_norm_training(x, {}, {}, mean, variance, 0.9f, 1e-3f);
  }
};

Failure refusal(float value, const SymbolicTensor& x, SymbolicTensor y) {
  Model model(x, Dense({.units = 2})(BatchNormalization()(y)), {.seed = 1});
  Tensor inputs({16, 2});
  Rng(1).fill_normal(inputs, 0, 1);
  inputs.f32()[31] = value;
  const Dataset data(inputs, Tensor::zeros({16}, DType::i64));
  return failure_of<ValueError>([&] {
    fit(model, data,
        {.batch_size = 16,
         .shards = 4,
         .batch_statistics = BatchStatistics::synchronized});
  });
}

TEST(FitSynchronizedLayers, RejectShardsThatBranchDifferently) {
  const Quiet quiet;
  const SymbolicTensor x = input({2});
  const SymbolicTensor y = LayerHandle(std::make_shared<Chooses>())(x);
  EXPECT_EQ(refusal(99, x, Dense({.units = 3})(y)),
            (Failure{"unsupported_model", "synchronized statistics"}));
}

TEST(FitSynchronizedLayers, ReportInputsThatAreNotFinite) {
  const Quiet quiet;
  const SymbolicTensor x = input({2});
  EXPECT_EQ(refusal(std::numeric_limits<float>::quiet_NaN(), x, x),
            (Failure{"not_finite", "inputs"}));
}

}  // namespace
}  // namespace octet::train
