// Agreement of ranks that train together, and distribution of the optimizer
// state.
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"
#include "sharded_job.h"

namespace octet::train {
namespace {

TEST(FitRanks, ResumeOnAnotherNumberOfRanks) {
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
    EXPECT_EQ(failure_of<ValueError>([&] { other.run(&rank); }),
              (Failure{"conflicting_options", "checkpoint"}));
  });
}

TEST(FitRanks, RejectRanksThatDiffer) {
  const Quiet quiet;
  ShardJob job;
  on_ranks(4, [&](Communicator& rank) {
    ShardJob own = job;
    own.change = [&](FitOptions& options) {
      if (rank.rank() == 2) options.seed = 6;
    };
    EXPECT_EQ(failure_of<ValueError>([&] { own.run(&rank); }),
              (Failure{"conflicting_options", "fit"}));
  });
  // Errors on a single rank.
  on_ranks(2, [&](Communicator& rank) {
    ShardJob own = job;
    if (rank.rank() == 1) own.data = images(9, 1);
    EXPECT_EQ(failure_of<ValueError>([&] { own.run(&rank); }),
              (Failure{"out_of_range", "fit"}));
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

class ThrowingCallback final : public Callback {
 public:
  void on_step(const Progress& progress) override {
    if (progress.epoch == 1) throw std::runtime_error("no more");
  }
};

TEST(FitRanks, StopOnAllRanksWhenOneDoes) {
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
      if (rank.rank() == 1)
        options.callbacks = {std::make_shared<ThrowingCallback>()};
    };
    EXPECT_EQ(failure_of<InternalError>([&] { own.run(&rank); }),
              (Failure{"internal", ""}));
  });
}

/// Sets the learning rate on its rank.
class OwnRate final : public Callback {
 public:
  explicit OwnRate(bool sets) : sets_(sets) {}
  void on_step(const Progress& progress) override {
    if (sets_) progress.training->optimizer().set_learning_rate(0.5f);
  }

 private:
  bool sets_;
};

TEST(FitRanks, RejectDifferentLearningRates) {
  const Quiet quiet;
  const ShardJob job;
  on_ranks(2, [&](Communicator& rank) {
    ShardJob own = job;
    own.change = [&](FitOptions& options) {
      options.callbacks = {std::make_shared<OwnRate>(rank.rank() == 1)};
    };
    EXPECT_EQ(failure_of<ValueError>([&] { own.run(&rank); }),
              (Failure{"invalid_state", "fit"}));
  });
}

TEST(FitRanks, RejectALossThatIsNotFiniteOnAnyRank) {
  const Quiet quiet;
  ShardJob job;
  Batch all = images(32, 1).batch(0, 32);
  all.input().f32()[30 * 31] = std::numeric_limits<float>::infinity();
  job.data = Dataset(all.input(), all.label());
  on_ranks(4, [&](Communicator& rank) {
    EXPECT_EQ(failure_of<ValueError>([&] { job.run(&rank); }),
              (Failure{"not_finite", "loss"}));
  });
}

/// Each rank updates its own parameters and stores only their moments.
TEST(FitRanks, SplitTheOptimizersState) {
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
