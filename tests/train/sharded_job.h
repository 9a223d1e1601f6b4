// A training in shards, and its results on different numbers of ranks.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "checkpoints.h"
#include "thread_ranks.h"
#include "weights.h"

namespace octet::train {

/// Network with convolution, batch normalization, dropout and regularization.
inline Model shard_network() {
  const SymbolicTensor x = input({6, 5, 1});
  SymbolicTensor y = Conv2D({.filters = 4,
                             .kernel_size = 3,
                             .kernel_regularizer = {.l2 = 1e-2f},
                             .name = "conv"})(x);
  y = BatchNormalization({.momentum = 0.8f, .name = "bn"})(y);
  y = ReLU({.name = "relu"})(y);
  y = Flatten({.name = "flatten"})(y);
  y = Dropout({.rate = 0.3f, .name = "dropout"})(y);
  y = Dense({.units = 2, .name = "logits"})(y);
  return Model(x, y, {.seed = 3});
}

struct Outcome {
  std::vector<float> weights;
  std::string history;
  Config status;
  bool operator==(const Outcome&) const = default;
};

struct ShardJob {
  std::function<Model()> model = shard_network;
  std::function<void(FitOptions&)> change = [](FitOptions&) {};
  // 50 = 3 * 16 + 2: the last batch has fewer samples than shards.
  Dataset data = images(50, 1);
  Dataset validation = images(30, 2);

  Outcome run(Communicator* ranks = nullptr) const {
    Model trained = model();
    FitOptions options{.epochs = 3,
                       .batch_size = 16,
                       .optimizer = Adam({.learning_rate = 1e-2f}),
                       .schedule = cosine(),
                       .seed = 5,
                       .validation = &validation,
                       .validation_batch_size = 7,
                       .clip_norm = 0.5f,
                       .gradient_norm = true,
                       .accumulate = 2,
                       .augmentation = {random_flip(), random_shift()},
                       .prefetch = 2,
                       .shards = 4,
                       .communicator = ranks};
    change(options);
    Outcome outcome;
    outcome.history = text_of(fit(trained, data, options));
    outcome.weights = weights_of(trained);
    outcome.status = quant::state_of(trained).status;
    return outcome;
  }
  /// Expects the same result on every rank as in a single process.
  void expect_same_on(int ranks, const Outcome& expected) const {
    on_ranks(ranks, [&](Communicator& rank) {
      const Outcome outcome = run(&rank);
      EXPECT_EQ(outcome.history, expected.history);
      EXPECT_EQ(outcome.status, expected.status);
      EXPECT_TRUE(outcome.weights == expected.weights)
          << "rank " << rank.rank() << " of " << rank.size();
    });
  }
};

/// A quantized network, calibrated unless its scales are running scales.
inline ShardJob quantized_job(const ShardJob& job, quant::ScaleRule rule) {
  ShardJob result = job;
  result.model = [model = job.model, rule] {
    quant::QuantizerConfig weight = quant::weight_quantizer();
    if (rule == quant::ScaleRule::learned) weight.rule = rule;
    return quant::quantize_model(
        model(),
        {.activation = {.rule = rule, .freeze_step = 9}, .weight = weight});
  };
  result.change = [change = job.change](FitOptions& options) {
    change(options);
    options.calibrate = quant::CalibrationOptions{};
  };
  return result;
}

class Quiet {
 public:
  Quiet() : before_(set_warning_sink([](const Warning&) {})) {}
  ~Quiet() { set_warning_sink(before_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  WarningSink before_;
};

}  // namespace octet::train
