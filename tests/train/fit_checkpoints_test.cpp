// fit resumes bit-identically from any checkpoint.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpointed_fit.h"

namespace octet::train {
namespace {

/// Ends the fit by an exception.
class Thrower final : public Callback {
 public:
  explicit Thrower(int64_t step) : left_(step) {}
  void on_step(const Progress&) override {
    if (--left_ == 0) throw ValueError("invalid_state", "thrower", "enough");
  }

 private:
  int64_t left_;
};

/// Resumes from each state of an uninterrupted fit.
void expect_same_end_from_every_state(const Job& job) {
  const Job::Result expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  EXPECT_EQ(job.run(checkpoints), expected);
  const std::vector<TrainingState> states = checkpoints->states;
  ASSERT_GT(states.size(), 5u);
  for (size_t i = 0; i < states.size(); ++i) {
    checkpoints->states.assign(states.begin(),
                               states.begin() + static_cast<ptrdiff_t>(i) + 1);
    const Job::Result result = job.run(checkpoints, true);
    EXPECT_EQ(result.history, expected.history) << "from state " << i;
    EXPECT_EQ(result.weights, expected.weights) << "from state " << i;
    EXPECT_EQ(result.rows, expected.rows) << "from state " << i;
    EXPECT_EQ(result.status, expected.status) << "from state " << i;
    EXPECT_EQ(checkpoints->states.size(), states.size()) << "from state " << i;
  }
}

TEST(FitCheckpoints, ResumeBitIdenticallyFromEveryState) {
  // Epochs of four optimizer steps: three states within each epoch, one after.
  expect_same_end_from_every_state(Job());
}

TEST(FitCheckpoints, ResumeBitIdenticallyForAnyThreadsAndPrefetch) {
  const ThreadCountGuard restored;
  Job job;
  const Job::Result expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.run(checkpoints);
  checkpoints->states.resize(7);
  set_num_threads(3);
  job.change = [](FitOptions& options) {
    options.prefetch = 0;
    options.workers = 1;
    options.validation_batch_size = 7;
  };
  EXPECT_EQ(job.run(checkpoints, true), expected);
}

TEST(FitCheckpoints, ResumeBitIdenticallyWithObservers) {
  Job job;
  job.model = [&job] {
    Model model = quant::quantize_model(image_network());
    quant::calibrate(model, job.data);
    quant::prepare_qat(model);
    size_t i = 0;
    for (const auto& quantizer : quant::quantizers(model)) {
      const quant::Calibration methods[] = {quant::Calibration::max,
                                            quant::Calibration::ema,
                                            quant::Calibration::percentile};
      quantizer->start_observing({.method = methods[i++ % 3]});
    }
    return model;
  };
  job.change = [](FitOptions& options) {
    options.optimizer = SGD({.learning_rate = 1e-2f, .momentum = 0.9f});
    // Validation runs in several threads, but observers are not thread-safe.
    options.validation = nullptr;
    options.callbacks[0] = early_stopping(
        {.monitor = "accuracy", .patience = 9, .restore_best_weights = true});
  };
  expect_same_end_from_every_state(job);
}

/// Changes scales and disables quantizers for an epoch.
class ScaleChanger final : public Callback {
 public:
  void on_epoch_end(const Progress& progress) override {
    for (const auto& quantizer :
         quant::quantizers(progress.training->model())) {
      if (!quantizer->scale()) continue;
      quantizer->set_scale(*quantizer->scale() * 1.25f);
      quantizer->set_enabled(progress.epoch != 1);
    }
  }
};

TEST(FitCheckpoints, RestoreScalesAndSwitchesOfQuantizers) {
  Job job;
  job.model = [&job] {
    Model model = quant::quantize_model(image_network());
    quant::calibrate(model, job.data);
    return model;
  };
  job.change = [](FitOptions& options) {
    options.callbacks.push_back(std::make_shared<ScaleChanger>());
  };
  expect_same_end_from_every_state(job);
}

TEST(FitCheckpoints, ResumeBitIdenticallyWithLearnedAndRunningScales) {
  for (const quant::ScaleRule rule :
       {quant::ScaleRule::learned, quant::ScaleRule::ema}) {
    Job job;
    job.model = [&] {
      Model model = quant::quantize_model(
          image_network(),
          {.activation = {.bits = 4, .rule = rule, .freeze_step = 9},
           .weight = {.bits = 4,
                      .narrow_range = true,
                      .per_channel = true,
                      .rule = quant::ScaleRule::learned}});
      quant::calibrate(model, job.data);
      quant::prepare_qat(model);
      return model;
    };
    expect_same_end_from_every_state(job);
  }
}

TEST(FitCheckpoints, ResumeBitIdenticallyWithEveryOptimizer) {
  const std::vector<std::function<Optimizer()>> optimizers = {
      [] { return SGD({.learning_rate = 0.01f}); },
      [] { return SGD({.momentum = 0.9f, .nesterov = true}); },
      [] { return AdamW(); },
      [] { return RMSprop({.momentum = 0.5f, .centered = true}); }};
  for (const auto& optimizer : optimizers) {
    Job job;
    job.change = [&](FitOptions& options) {
      options.optimizer = optimizer();
      options.epochs = 2;
      options.accumulate = 1;
    };
    expect_same_end_from_every_state(job);
  }
}

TEST(FitCheckpoints, RecordThatAFitWasStopped) {
  Job job;
  job.change = [](FitOptions& options) {
    options.epochs = 9;
    options.schedule = constant();
    options.callbacks = {early_stopping({.monitor = "val_accuracy",
                                         .patience = 2,
                                         .restore_best_weights = true})};
  };
  const Job::Result expected = job.run();
  const auto epochs = std::ranges::count(expected.history, '\n');
  ASSERT_LT(epochs, 9) << "nothing was stopped";
  expect_same_end_from_every_state(job);
}

TEST(FitCheckpoints, RestorePlateausAndLearningRates) {
  Job job;
  job.change = [](FitOptions& options) {
    options.epochs = 9;
    options.schedule = constant();
    // No epoch improves by this much.
    options.callbacks = {reduce_on_plateau({.monitor = "loss",
                                            .factor = 0.5f,
                                            .patience = 2,
                                            .min_delta = 100,
                                            .cooldown = 2})};
  };
  expect_same_end_from_every_state(job);
}

/// Records the progress at the end of a fit.
class EndSeer final : public Callback {
 public:
  void on_train_end(const Progress& progress) override {
    seen = fmt::format("{} {} {} {} {} {} {}", progress.epoch, progress.step,
                       progress.samples, progress.loss, progress.accuracy,
                       progress.learning_rate, progress.metrics.size());
  }
  std::string seen;
};

TEST(FitCheckpoints, CallOnTrainEndForACompletedFit) {
  Job job;
  std::string seen[2];
  const auto checkpoints = std::make_shared<MemoryCheckpoints>(1000);
  for (std::string& each : seen) {
    const auto seer = std::make_shared<EndSeer>();
    job.change = [&](FitOptions& options) {
      options.callbacks.push_back(seer);
    };
    job.run(checkpoints, true);
    each = seer->seen;
  }
  EXPECT_THAT(seen[0], testing::StartsWith("3 7 50 "));
  EXPECT_EQ(seen[0], seen[1]);
}

/// Throws before the first step.
class Refuser final : public Callback {
 public:
  void on_train_begin(const Progress&) override {
    throw ValueError("invalid_state", "refuser", "never begins");
  }
};

TEST(FitCheckpoints, DoNotChangeTheLogIfAnotherCallbackThrows) {
  Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.run(checkpoints);
  const std::string log = read_file(job.log);
  checkpoints->states.resize(6);
  job.change = [](FitOptions& options) {
    options.callbacks.push_back(std::make_shared<Refuser>());
  };
  EXPECT_THROW(job.run(checkpoints, true), ValueError);
  EXPECT_EQ(read_file(job.log), log);
}

TEST(FitCheckpoints, ResumeAfterAnException) {
  Job job;
  const Job::Result expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>(2);
  for (const int64_t step : {1, 2, 5, 11}) {
    Job failing;
    failing.log = job.log;
    failing.change = [step](FitOptions& options) {
      options.callbacks.push_back(std::make_shared<Thrower>(step));
    };
    EXPECT_THROW(failing.run(checkpoints, true), ValueError);
  }
  EXPECT_EQ(job.run(checkpoints, true), expected);
}

TEST(FitCheckpoints, ReturnAtOnceFromACompletedFit) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>(1000);
  const Job::Result expected = job.run(checkpoints);
  EXPECT_EQ(checkpoints->states.size(), 5u);  // initial state, four epochs
  EXPECT_EQ(job.run(checkpoints, true), expected);
  EXPECT_EQ(checkpoints->states.size(), 5u);
}

TEST(FitCheckpoints, ResumeForMoreEpochsIfTheScheduleAllows) {
  Job longer;
  longer.change = [](FitOptions& options) {
    options.epochs = 6;
    options.schedule = step_decay({.gamma = 0.5f, .every = 3});
  };
  const Job::Result expected = longer.run();
  Job shorter;
  shorter.log = longer.log;
  shorter.change = [](FitOptions& options) {
    options.epochs = 3;
    options.schedule = step_decay({.gamma = 0.5f, .every = 3});
  };
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  shorter.run(checkpoints);
  EXPECT_EQ(longer.run(checkpoints, true), expected);
}

TEST(FitCheckpoints, StartWithoutACheckpoint) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>(1000);
  EXPECT_EQ(job.run(checkpoints, true), job.run());
}

TEST(FitCheckpoints, ResumeWithMoreStatelessCallbacks) {
  Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  const Job::Result expected = job.run(checkpoints);
  checkpoints->states.resize(6);
  job.change = [](FitOptions& options) {
    options.callbacks.insert(options.callbacks.begin(),
                             std::make_shared<Callback>());
  };
  EXPECT_EQ(job.run(checkpoints, true), expected);
}

}  // namespace
}  // namespace octet::train
