// fit and its checkpoints: the same bits wherever it goes on from, and what it
// says of states that are not its own.
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "checkpoints.h"

namespace octet::train {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Changes what a model is while it trains, and remembers nothing.
class Freezer final : public Callback {
 public:
  void on_epoch_end(const Progress& progress) override {
    const Model& model = progress.training->model();
    if (progress.epoch == 0) quant::freeze_bn_stats(model);
    for (const auto& layer : model.layers()) {
      if (progress.epoch == 1 && layer->name().ends_with("conv")) {
        layer->set_trainable(false);
      }
    }
  }
};

/// Ends the fit by an exception, as a user's own mistake would.
class Thrower final : public Callback {
 public:
  explicit Thrower(int64_t step) : left_(step) {}
  void on_step(const Progress&) override {
    if (--left_ == 0) throw ValueError("thrower: expected more, got enough");
  }

 private:
  int64_t left_;
};

/// A fit that can be begun again and again: new models, optimizers, callbacks.
class Job {
 public:
  std::function<Model()> model = [] { return image_network(); };
  std::function<void(FitOptions&)> change = [](FitOptions&) {};
  Dataset data = images(50, 1);
  Dataset validation = images(20, 2);
  std::filesystem::path log =
      std::filesystem::temp_directory_path() /
      fmt::format(
          "octet_{}.csv",
          testing::UnitTest::GetInstance()->current_test_info()->name());

  ~Job() {
    std::error_code ignored;
    std::filesystem::remove(log, ignored);
  }

  FitOptions options() const {
    FitOptions options{
        .epochs = 4,
        .batch_size = 8,
        .optimizer = Adam({.learning_rate = 1e-2f, .weight_decay = 1e-3f}),
        .schedule = cosine({.floor = 0.1f}),
        .seed = 5,
        .validation = &validation,
        .callbacks = {early_stopping({.monitor = "val_accuracy",
                                      .patience = 9,
                                      .restore_best_weights = true}),
                      reduce_on_plateau({.monitor = "loss",
                                         .factor = 0.5f,
                                         .patience = 1,
                                         .min_delta = 0.05}),
                      csv_log(log), std::make_shared<Freezer>()},
        .clip_norm = 1.0f,
        .accumulate = 2,
        .augmentation = {random_flip(), random_shift()},
        .prefetch = 3,
        .workers = 2};
    change(options);
    return options;
  }

  struct Result {
    std::string history;
    std::vector<float> weights;
    std::string rows;
    Config status;  // passes in training, what is frozen, quantizers
    bool operator==(const Result&) const = default;
  };

  Result run(std::shared_ptr<Checkpointer> checkpoints = {},
             bool resume = false) const {
    const Model trained = model();
    FitOptions chosen = options();
    chosen.checkpoints = std::move(checkpoints);
    chosen.resume = resume;
    Result result;
    result.history = text_of(fit(trained, data, chosen));
    result.weights = weights_of(trained);
    result.rows = rows();
    result.status = quant::state_of(trained).status;
    return result;
  }

 private:
  /// The log without its last column, which is of seconds.
  std::string rows() const {
    if (!std::filesystem::exists(log)) return {};
    std::istringstream lines(read_file(log));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      text += line.substr(0, line.rfind(',')) + "\n";
    }
    return text;
  }
};

/// Goes on from each state that an undisturbed fit saved.
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

TEST(FitCheckpoints, EndInTheSameBitsFromEveryState) {
  // Epochs of four steps of the optimizer: three states within, one after.
  expect_same_end_from_every_state(Job());
}

TEST(FitCheckpoints, EndInTheSameBitsForAnyThreadsAndPrefetch) {
  const ThreadsRestored restored;
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

TEST(FitCheckpoints, EndInTheSameBitsWithQuantizersThatObserve) {
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
    // Validation runs in several threads, and observers belong to one.
    options.validation = nullptr;
    options.callbacks[0] = early_stopping(
        {.monitor = "accuracy", .patience = 9, .restore_best_weights = true});
  };
  expect_same_end_from_every_state(job);
}

/// Moves and switches a quantizer off, as a callback of a user's may.
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

TEST(FitCheckpoints, KeepScalesAndSwitchesOfQuantizers) {
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

TEST(FitCheckpoints, EndInTheSameBitsWithEveryOptimizer) {
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

TEST(FitCheckpoints, RememberThatAFitWasStopped) {
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

TEST(FitCheckpoints, RememberPlateausAndRates) {
  Job job;
  job.change = [](FitOptions& options) {
    options.epochs = 9;
    options.schedule = constant();
    // Nothing is ever better by so much.
    options.callbacks = {reduce_on_plateau({.monitor = "loss",
                                            .factor = 0.5f,
                                            .patience = 2,
                                            .min_delta = 100,
                                            .cooldown = 2})};
  };
  expect_same_end_from_every_state(job);
}

/// What is seen at the end of a fit.
class EndSeer final : public Callback {
 public:
  void on_train_end(const Progress& progress) override {
    seen = fmt::format("{} {} {} {} {} {} {}", progress.epoch, progress.step,
                       progress.samples, progress.loss, progress.accuracy,
                       progress.learning_rate, progress.metrics.size());
  }
  std::string seen;
};

TEST(FitCheckpoints, ShowTheEndOfAFitThatHadEnded) {
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

/// Fails before the first step.
class Refuser final : public Callback {
 public:
  void on_train_begin(const Progress&) override {
    throw ValueError("refuser: expected another day");
  }
};

TEST(FitCheckpoints, LeaveTheLogWhereAnotherCallbackRefusesToBegin) {
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

TEST(FitCheckpoints, GoOnAfterAnException) {
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

TEST(FitCheckpoints, ReturnAtOnceFromAFitThatHadEnded) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>(1000);
  const Job::Result expected = job.run(checkpoints);
  EXPECT_EQ(checkpoints->states.size(), 5u);  // the beginning, four epochs
  EXPECT_EQ(job.run(checkpoints, true), expected);
  EXPECT_EQ(checkpoints->states.size(), 5u);
}

TEST(FitCheckpoints, GoOnForMoreEpochsWhereTheScheduleAllows) {
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

TEST(FitCheckpoints, BeginWhereThereAreNone) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>(1000);
  EXPECT_EQ(job.run(checkpoints, true), job.run());
}

/// What a fit says of the states of `Job()`; the model must stay as it was.
std::string refusal(const Job& job, const Model& model) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  Job original;
  original.log = job.log;
  original.run(checkpoints);
  checkpoints->states.resize(6);
  const std::string log = read_file(job.log);
  const std::vector<float> before = weights_of(model);
  FitOptions options = job.options();
  options.checkpoints = checkpoints;
  options.resume = true;
  std::string text =
      error_of<ValueError>([&] { fit(model, job.data, options); });
  EXPECT_EQ(weights_of(model), before);
  EXPECT_EQ(checkpoints->states.size(), 6u);
  EXPECT_EQ(read_file(job.log), log);
  return text;
}

std::string refusal(const std::function<void(FitOptions&)>& change) {
  Job job;
  job.change = change;
  return refusal(job, job.model());
}

TEST(FitCheckpoints, OfOtherOptionsAreRefusedWithWhatDiffers) {
  const std::string text =
      refusal([](FitOptions& options) { options.batch_size = 10; });
  EXPECT_THAT(text,
              AllOf(HasSubstr("checkpoint: expected one of this model, data "
                              "and options, got another (fit batch_size: 8 "
                              "there, 10 here"),
                    HasSubstr("in the checkpoints of 'memory'")));
  EXPECT_THAT(refusal([](FitOptions& options) { options.optimizer = SGD(); }),
              HasSubstr("fit optimizer class_name: 'Adam' there, 'SGD' here"));
  EXPECT_THAT(refusal([](FitOptions& options) {
                options.optimizer =
                    Adam({.learning_rate = 0.5f, .weight_decay = 1e-3f});
              }),
              HasSubstr("fit optimizer learning_rate: 0.0"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.seed = 6; }),
              HasSubstr("fit seed: 5 there, 6 here"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.accumulate = 1; }),
              HasSubstr("fit accumulate: 2 there, 1 here"));
  EXPECT_THAT(refusal([](FitOptions& options) {
                options.loss = losses::categorical_cross_entropy();
                options.metrics = {metrics::accuracy()};
              }),
              HasSubstr("expected labels"));
}

TEST(FitCheckpoints, OfOtherCallbacksAreRefused) {
  EXPECT_THAT(
      refusal([](FitOptions& options) {
        options.callbacks.erase(options.callbacks.begin());
      }),
      HasSubstr("fit callbacks: ['early_stopping', 'reduce_on_plateau', "
                "'csv_log'] there, ['reduce_on_plateau', 'csv_log'] here"));
}

TEST(FitCheckpoints, GoOnWithMoreCallbacksThatRememberNothing) {
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

TEST(FitCheckpoints, OfAnotherScheduleOrFewerEpochsAreRefused) {
  EXPECT_THAT(
      refusal([](FitOptions& options) { options.schedule = constant(); }),
      HasSubstr("expected one of this schedule over 4 epochs, got one whose "
                "first 5 steps had other factors"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.epochs = 5; }),
              HasSubstr("expected one of this schedule over 5 epochs"));
  EXPECT_THAT(refusal([](FitOptions& options) { options.epochs = 1; }),
              HasSubstr("expected one within 1 epochs, got one of epoch 2"));
}

TEST(FitCheckpoints, OfOtherDataAreRefused) {
  Job job;
  job.data = images(51, 1);
  EXPECT_THAT(refusal(job, job.model()),
              HasSubstr("fit data samples: 50 there, 51 here"));
  job.data = images(50, 9);
  EXPECT_THAT(refusal(job, job.model()),
              HasSubstr("fit data digest of the first batch: "));
  job.data = images(50, 1);
  job.validation = images(20, 8);
  EXPECT_THAT(refusal(job, job.model()),
              HasSubstr("fit data digest of the first validation sample: "));
  EXPECT_THAT(
      refusal([](FitOptions& options) { options.augmentation.pop_back(); }),
      HasSubstr("fit data digest of the first batch: "));
}

TEST(FitCheckpoints, OfAnotherModelAreRefused) {
  const Job job;
  const SymbolicTensor image = input({6, 5, 1}, "image");
  const SymbolicTensor x =
      ReLU({.name = "relu"})(Conv2D({.filters = 5, .name = "conv"})(image));
  const Model other(
      image,
      Dense({.units = 2, .name = "logits"})(Flatten({.name = "flat"})(x)),
      {.seed = 3});
  EXPECT_THAT(refusal(job, other),
              AllOf(HasSubstr("model layers 'conv' config filters: 4 there, 5 "
                              "here"),
                    HasSubstr("model layers 'norm': "), HasSubstr(" more)")));
  EXPECT_THAT(refusal(job, image_network(4)),
              HasSubstr("model seed of the model: 3 there, 4 here"));
  EXPECT_THAT(refusal(job, quant::quantize_model(image_network())),
              HasSubstr("model quantizers: nothing there, "));
  const Model frozen = image_network();
  frozen.layer("norm").set_trainable(false);
  EXPECT_THAT(refusal(job, frozen), HasSubstr("fit parameters: ['conv/kernel"));
}

TEST(FitCheckpoints, AreNotOverwrittenWithoutResume) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.run(checkpoints);
  const size_t count = checkpoints->states.size();
  EXPECT_THAT(error_of<ValueError>([&] { job.run(checkpoints); }),
              HasSubstr("fit: expected no checkpoints of another fit in "
                        "'memory', got some. Hint: say resume = true"));
  EXPECT_EQ(checkpoints->states.size(), count);
}

TEST(FitCheckpoints, AreWantedWhereAFitIsToResume) {
  Job job;
  job.change = [](FitOptions& options) { options.resume = true; };
  const Model model = job.model();
  EXPECT_THAT(
      error_of<ValueError>([&] { fit(model, job.data, job.options()); }),
      HasSubstr("fit: expected checkpoints to resume from, got none"));
}

TEST(FitCheckpoints, BelongToOneFitAtATime) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  const auto other = checkpoints->claim();
  const Job job;
  EXPECT_THAT(error_of<IoError>([&] { job.run(checkpoints); }),
              HasSubstr("expected no other fit"));
  EXPECT_TRUE(checkpoints->empty());
}

/// Lets a place run full at a step.
class Filler final : public Callback {
 public:
  Filler(MemoryCheckpoints& place, bool full) : place_(place), full_(full) {}
  void on_epoch_end(const Progress&) override { place_.full = full_; }

 private:
  MemoryCheckpoints& place_;
  bool full_;
};

TEST(FitCheckpoints, ThatCannotBeSavedLaterAreAWarning) {
  Job job;
  const Job::Result expected = job.run();
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  job.change = [&](FitOptions& options) {
    options.callbacks.push_back(std::make_shared<Filler>(*checkpoints, true));
  };
  const WarningsKept warnings;
  EXPECT_EQ(job.run(checkpoints), expected);
  EXPECT_EQ(checkpoints->states.size(), 4u);  // the beginning, three steps
  ASSERT_EQ(warnings.messages.size(), 13u);   // all others
  EXPECT_THAT(warnings.messages[0],
              HasSubstr("fit: cannot save a checkpoint, going on without it: "
                        "memory: cannot write"));
}

TEST(FitCheckpoints, ThatCannotBeSavedAtFirstEndTheFit) {
  const Job job;
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  checkpoints->full = true;
  EXPECT_THAT(error_of<IoError>([&] { job.run(checkpoints); }),
              HasSubstr("no space left"));
}

}  // namespace
}  // namespace octet::train
