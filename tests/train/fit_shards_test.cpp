// Training in shards: what it computes, and that the number of ranks does not
// matter.
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "checkpoints.h"
#include "thread_ranks.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Convolution, batch normalization, dropout, regularization.
Model shard_network() {
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
  /// On every rank the same as on one.
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

class Quiet {
 public:
  Quiet() : before_(set_warning_sink([](std::string_view) {})) {}
  ~Quiet() { set_warning_sink(before_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  WarningSink before_;
};

/// One step of SGD by hand, each shard in a model of its own.
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
      Loader(data, {.batch_size = kShards * kSize, .seed = 9}).batch(0);
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
      // Shares of a quarter are exact.
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

TEST(FitShards, GiveTheSameBitsOnAnyNumberOfRanks) {
  const Quiet quiet;
  const ShardJob job;
  const Outcome expected = job.run();
  for (const int ranks : {1, 2, 4}) job.expect_same_on(ranks, expected);
}

TEST(FitShards, MatterForTheResult) {
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

TEST(FitShards, DropAndAugmentEachInTheirOwnWay) {
  const Quiet quiet;
  ShardJob job;
  job.change = [](FitOptions& options) {
    options.augmentation = {};
    options.accumulate = 1;
  };
  // All samples are the same: so would be the gradients, with one mask.
  job.data = images(1, 1).map([](Batch b) { return b; });
  const Batch one = job.data.batch(0, 1);
  Tensor inputs(Shape{16, 6, 5, 1});
  for (int64_t i = 0; i < 16; ++i) {
    Tensor row = inputs.slice(i, 1);
    std::ranges::copy(std::as_const(one.input()).f32(), row.f32().begin());
  }
  job.data = Dataset(inputs, Tensor::zeros({16}, DType::i64));
  std::vector<float> weights = job.run().weights;
  job.change = [](FitOptions& options) {
    options.augmentation = {};
    options.accumulate = 1;
    options.shards = 8;
  };
  EXPECT_NE(job.run().weights, weights);
}

TEST(FitShards, WorkForQuantizedModels) {
  const Quiet quiet;
  for (const quant::ScaleRule rule :
       {quant::ScaleRule::fixed, quant::ScaleRule::ema,
        quant::ScaleRule::last_value, quant::ScaleRule::learned}) {
    SCOPED_TRACE(to_string(rule));
    const bool learned = rule == quant::ScaleRule::learned;
    ShardJob job;
    job.model = [&] {
      quant::QuantizerConfig weight = quant::weight_quantizer();
      if (learned) weight.rule = rule;
      return quant::quantize_model(
          shard_network(),
          {.activation = {.rule = rule, .freeze_step = 9}, .weight = weight});
    };
    job.change = [&](FitOptions& options) {
      // So that scales fall to their floor.
      if (learned) options.optimizer = SGD({.learning_rate = 5.0f});
      options.calibrate = quant::CalibrationOptions{};
    };
    const Outcome expected = job.run();
    for (const int ranks : {2, 4}) job.expect_same_on(ranks, expected);
  }
}

/// The largest magnitude of a batch is that of its shards.
TEST(FitShards, LetScalesFollowAsTheWholeBatchDoes) {
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

TEST(FitShards, ResumeOnAnotherNumberOfRanks) {
  const Quiet quiet;
  const ShardJob job;
  const Outcome expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  ShardJob saving = job;
  saving.change = [&](FitOptions& options) {
    options.checkpoints = checkpoints;
    options.resume = true;
  };
  saving.expect_same_on(4, expected);
  const std::vector<TrainingState> states = checkpoints->states;
  ASSERT_GT(states.size(), 6U);
  for (const size_t at : {size_t{0}, states.size() / 2, states.size() - 1}) {
    for (const int ranks : {1, 2}) {
      checkpoints->states = {states[at]};
      saving.expect_same_on(ranks, expected);
    }
  }
  checkpoints->states = {states[2]};
  ShardJob other = saving;
  other.change = [&](FitOptions& options) {
    saving.change(options);
    options.shards = 2;
  };
  on_ranks(2, [&](Communicator& rank) {
    EXPECT_THAT(error_of<ValueError>([&] { other.run(&rank); }),
                HasSubstr("shards: 4 there, 2 here"));
  });
}

TEST(FitShards, CompareTheRanks) {
  const Quiet quiet;
  ShardJob job;
  on_ranks(4, [&](Communicator& rank) {
    ShardJob own = job;
    own.change = [&](FitOptions& options) {
      if (rank.rank() == 2) options.seed = 6;
    };
    EXPECT_THAT(error_of<ValueError>([&] { own.run(&rank); }),
                AllOf(HasSubstr("expected the same model, data and options on "
                                "all 4 ranks, got others on rank 2"),
                      HasSubstr("fit seed: 5 on rank 0, 6 on rank 2")));
  });
  // What is refused on one rank alone.
  on_ranks(2, [&](Communicator& rank) {
    ShardJob own = job;
    if (rank.rank() == 1) own.data = images(9, 1);
    EXPECT_THAT(error_of<ValueError>([&] { own.run(&rank); }),
                AllOf(HasSubstr("expected a batch_size of at most 9"),
                      HasSubstr("on rank 1 of 2")));
  });
}

class Stopper final : public Callback {
 public:
  explicit Stopper(int64_t step) : step_(step) {}
  void on_step(const Progress& progress) override {
    if (progress.step == step_) progress.training->stop();
  }

 private:
  int64_t step_;
};

class Counter final : public Callback {
 public:
  bool on_first_rank_only() const override { return true; }
  void on_step(const Progress&) override { ++steps; }
  int64_t steps = 0;
};

class Thrower final : public Callback {
 public:
  void on_step(const Progress& progress) override {
    if (progress.epoch == 1) throw std::runtime_error("no more");
  }
};

TEST(FitShards, StopOnAllRanksWhenOneDoes) {
  const Quiet quiet;
  const ShardJob job;
  on_ranks(2, [&](Communicator& rank) {
    const auto counter = std::make_shared<Counter>();
    ShardJob own = job;
    own.change = [&](FitOptions& options) {
      options.callbacks = {
          std::make_shared<Stopper>(rank.rank() == 1 ? 2 : 100), counter};
    };
    own.run(&rank);
    EXPECT_EQ(counter->steps, rank.rank() == 0 ? 2 : 0);
  });
  on_ranks(2, [&](Communicator& rank) {
    ShardJob own = job;
    own.change = [&](FitOptions& options) {
      options.callbacks = {std::make_shared<Stopper>(100)};
      if (rank.rank() == 1) options.callbacks = {std::make_shared<Thrower>()};
    };
    EXPECT_THAT(error_of<InternalError>([&] { own.run(&rank); }),
                AllOf(HasSubstr("no more"), HasSubstr("on rank 1 of 2")));
  });
}

TEST(FitShards, FindALossThatIsNotFiniteOnAnyRank) {
  const Quiet quiet;
  ShardJob job;
  Batch all = images(32, 1).batch(0, 32);
  all.input().f32()[30 * 31] = std::numeric_limits<float>::infinity();
  job.data = Dataset(all.input(), all.label());
  on_ranks(4, [&](Communicator& rank) {
    EXPECT_THAT(error_of<ValueError>([&] { job.run(&rank); }),
                AllOf(HasSubstr("loss: expected a finite value"),
                      HasSubstr("on rank ")));
  });
}

TEST(FitShards, RefuseWhatCannotBeCut) {
  const auto error = [](const FitOptions& options) {
    Model model = small_network();
    return error_of<ValueError>([&] { fit(model, blobs(64), options); });
  };
  EXPECT_THAT(
      error({.shards = 0}),
      HasSubstr("expected a power of two in [1,4096] as shards, got 0"));
  EXPECT_THAT(error({.shards = 6}), HasSubstr("power of two"));
  EXPECT_THAT(
      error({.batch_size = 20, .shards = 8}),
      HasSubstr("expected a batch_size that 8 shards divide, got 20. Hint: 16 "
                "or 24"));
  EXPECT_THAT(error({.shards = 128}),
              HasSubstr("expected a sample for each of 128 shards, got 64"));
  on_ranks(3, [&](Communicator& rank) {
    EXPECT_THAT(error({.communicator = &rank}),
                HasSubstr("expected a number of ranks that divides 8 shards, "
                          "got 3. Hint: 1, 2, 4 or 8"));
  });
  on_ranks(8, [&](Communicator& rank) {
    EXPECT_THAT(error({.communicator = &rank}),
                HasSubstr("at most as many ranks as parameters"));
  });
  Model observing = quant::quantize_model(small_network());
  quant::calibrate(observing, blobs(32));
  quant::quantizers(observing)[0]->start_observing({});
  EXPECT_THAT(
      error_of<ValueError>([&] { fit(observing, blobs(64), {.shards = 2}); }),
      HasSubstr("quantizers that do not collect ranges"));
}

/// Each rank moves its own parameters and keeps their moments alone.
TEST(FitShards, SplitTheOptimizersState) {
  const Quiet quiet;
  class Moments final : public Callback {
   public:
    void on_train_end(const Progress& progress) override {
      for (const auto& slots : progress.training->optimizer().state().slots) {
        for (const Tensor& slot : slots) elements += slot.size();
      }
    }
    int64_t elements = 0;
  };
  const ShardJob job;
  std::mutex mutex;
  int64_t total = 0;
  on_ranks(4, [&](Communicator& rank) {
    const auto moments = std::make_shared<Moments>();
    ShardJob own = job;
    own.change = [&](FitOptions& options) { options.callbacks = {moments}; };
    own.run(&rank);
    const std::scoped_lock lock(mutex);
    total += moments->elements;
    EXPECT_GT(moments->elements, 0);
  });
  const Model model = shard_network();
  int64_t parameters = 0;
  for (const Variable& p : model.trainable_variables()) {
    parameters += p.shape().size();
  }
  EXPECT_EQ(total, 2 * parameters);
}

}  // namespace
}  // namespace octet::train
