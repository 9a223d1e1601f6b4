#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/calibrate.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/ops.h>
#include <octet/train/callback.h>
#include <octet/train/fit.h>

#include "../facts.h"
#include "../support.h"
#include "blobs.h"
#include "checkpoints.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Simulates a fit of small_network for a callback, with given validation
/// losses. The bias of "logits" is the number of the epoch.
class Play {
 public:
  explicit Play(std::vector<double> losses) : losses_(std::move(losses)) {}

  /// Returns the number of epochs.
  int64_t with(Callback& callback) {
    Training training(
        model_, optimizer_,
        {"loss", "accuracy", "val_loss", "val_accuracy", "learning_rate"});
    Progress progress{.epochs = std::ssize(losses_)};
    progress.training = &training;
    callback.on_train_begin(progress);
    int64_t epochs = 0;
    for (size_t i = 0; i < losses_.size() && !training.stopped(); ++i) {
      progress.epoch = static_cast<int64_t>(i);
      bias().assign(Tensor::full({2}, static_cast<float>(i)));
      callback.on_epoch_begin(progress);
      const Evaluation validation{.loss = losses_[i],
                                  .accuracy = -losses_[i],
                                  .metrics = {{"accuracy", -losses_[i]}}};
      progress.validation = &validation;
      callback.on_epoch_end(progress);
      progress.validation = nullptr;
      ++epochs;
    }
    callback.on_train_end(progress);
    return epochs;
  }

  const Variable& bias() const {
    return model_.layer("logits").parameter("bias").variable;
  }
  float epoch_of_weights() const { return bias().value().f32()[0]; }
  Optimizer& optimizer() { return optimizer_; }

 private:
  std::vector<double> losses_;
  Model model_ = small_network();
  Optimizer optimizer_ = SGD({.learning_rate = 1.0f});
};

/// A temporary folder.
class Folder {
 public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("octet_callbacks_" + std::string(testing::UnitTest::GetInstance()
                                                    ->current_test_info()
                                                    ->name()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::filesystem::path operator/(const char* name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

TEST(EarlyStopping, StopsAfterEpochsWithoutImprovement) {
  const std::vector<double> losses = {5, 4, 4, 4.5, 3, 2};
  EXPECT_EQ(Play(losses).with(*early_stopping()), 3);
  EXPECT_EQ(Play(losses).with(*early_stopping({.patience = 1})), 3);
  EXPECT_EQ(Play(losses).with(*early_stopping({.patience = 2})), 4);
  EXPECT_EQ(Play(losses).with(*early_stopping({.patience = 3})), 6);
  EXPECT_EQ(Play(losses).with(*early_stopping({.monitor = "val_accuracy"})), 3);
  EXPECT_EQ(Play(losses).with(
                *early_stopping({.patience = 1, .start_from_epoch = 3})),
            6);
}

TEST(EarlyStopping, RequiresMoreThanMinDelta) {
  EXPECT_EQ(Play({4, 3.5, 3}).with(*early_stopping({.min_delta = 0.5})), 2);
  EXPECT_EQ(Play({4, 3.4, 2.8}).with(*early_stopping({.min_delta = 0.5})), 3);
}

TEST(EarlyStopping, DetectsTheDirectionOfImprovement) {
  EXPECT_EQ(
      Play({1, 2, 3, 4}).with(*early_stopping({.better = Better::higher})), 4);
  EXPECT_EQ(Play({1, 2, 3, 4})
                .with(*early_stopping(
                    {.monitor = "val_accuracy", .better = Better::lower})),
            4);
}

TEST(EarlyStopping, NeverCountsNanAsImprovement) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Play({nan, nan, 1}).with(*early_stopping()), 2);
  EXPECT_EQ(Play({2, nan, 1}).with(*early_stopping({.patience = 2})), 3);
}

TEST(EarlyStopping, RestoresTheBestWeights) {
  Play stopped({5, 4, 6, 7, 1});
  EXPECT_EQ(stopped.with(
                *early_stopping({.patience = 2, .restore_best_weights = true})),
            4);
  EXPECT_EQ(stopped.epoch_of_weights(), 1.0f);
  Play whole({5, 4, 6});
  whole.with(*early_stopping({.patience = 9, .restore_best_weights = true}));
  EXPECT_EQ(whole.epoch_of_weights(), 1.0f);
  Play kept({5, 4, 6});
  kept.with(*early_stopping({.patience = 9}));
  EXPECT_EQ(kept.epoch_of_weights(), 2.0f);
}

TEST(EarlyStopping, ResetsForTheNextFit) {
  const auto callback = early_stopping({.restore_best_weights = true});
  Play({1, 2}).with(*callback);
  EXPECT_EQ(Play({9, 8, 7}).with(*callback), 3);
}

TEST(EarlyStopping, RejectsAnUnknownNameBeforeTraining) {
  Play play({1});
  const auto callback = early_stopping({.monitor = "val_los"});
  const Failure failure =
      failure_of<NotFoundError>([&] { play.with(*callback); });
  EXPECT_EQ(failure, (Failure{"unknown_name", "early_stopping"}));
  EXPECT_EQ(quoted_names(failure.text()).at(1), "val_loss");
}

TEST(EarlyStopping, SuggestsValidationData) {
  Model model = small_network();
  const Failure failure = failure_of<NotFoundError>(
      [&] { fit(model, blobs(10), {.callbacks = {early_stopping()}}); });
  EXPECT_EQ(failure, (Failure{"unknown_name", "early_stopping"}));
  EXPECT_THAT(failure.message, HasSubstr(".validation"));
}

// Before any change, including quantizer ranges.
TEST(Monitors, AreCheckedBeforeCalibrationAndTraining) {
  const Dataset data = blobs(16);
  for (const auto& callback : {early_stopping({.monitor = "val_acc"}),
                               reduce_on_plateau({.monitor = "val_acc"})}) {
    Model model = quant::quantize_model(small_network());
    const Failure failure = failure_of<NotFoundError>([&] {
      (void)fit(model, data,
                {.validation = &data,
                 .callbacks = {callback},
                 .calibrate = quant::CalibrationOptions{}});
    });
    EXPECT_EQ(failure, (Failure{"unknown_name", callback->state_name()}));
    EXPECT_THAT(quoted_names(failure.text()), Contains("val_accuracy"));
    EXPECT_TRUE(quant::needs_calibration(model));
    EXPECT_EQ(model.training_passes(), 0u);
  }
}

/// A custom callback.
class Watching final : public Callback {
 public:
  std::string monitored() const override { return "val_f1"; }
};

TEST(Monitors, OfCustomCallbacksAreChecked) {
  Model model = small_network();
  EXPECT_THROW((void)fit(model, blobs(16),
                         {.callbacks = {std::make_shared<Watching>()}}),
               NotFoundError);
}

TEST(EarlyStopping, EndsAFit) {
  // With a learning rate of 0, nothing improves.
  const Dataset data = blobs(10);
  Model model = small_network();
  const History history = fit(model, data,
                              {.epochs = 10,
                               .optimizer = SGD({.learning_rate = 0}),
                               .validation = &data,
                               .callbacks = {early_stopping({.patience = 3})}});
  EXPECT_EQ(history.size(), 4u);
}

TEST(EarlyStopping, RejectsOptionsOutOfRange) {
  EXPECT_THROW(early_stopping({.min_delta = -1}), ValueError);
  EXPECT_THROW(early_stopping({.min_delta = std::nan("")}), ValueError);
  EXPECT_THROW(early_stopping({.patience = -1}), ValueError);
  EXPECT_THROW(early_stopping({.start_from_epoch = -1}), ValueError);
}

TEST(ReduceOnPlateau, AppliesPatienceAndCooldown) {
  Play play({5, 5, 5, 5, 5, 5, 5});
  // Epochs 2 and 3 without improvement lower the rate; epoch 4 is the cooldown;
  // epochs 5 and 6 lower it again.
  play.with(*reduce_on_plateau({.factor = 0.5f, .patience = 2, .cooldown = 2}));
  EXPECT_EQ(play.optimizer().learning_rate(), 0.25f);
}

TEST(ReduceOnPlateau, StopsAtMinRate) {
  Play play({5, 5, 5, 5, 5, 5, 5});
  play.with(
      *reduce_on_plateau({.factor = 0.1f, .patience = 1, .min_rate = 0.05f}));
  EXPECT_EQ(play.optimizer().learning_rate(), 0.05f);
}

TEST(ReduceOnPlateau, RejectsOptionsOutOfRange) {
  EXPECT_THROW(reduce_on_plateau({.factor = 1.0f}), ValueError);
  EXPECT_THROW(reduce_on_plateau({.factor = 0.0f}), ValueError);
  EXPECT_THROW(reduce_on_plateau({.patience = 0}), ValueError);
  EXPECT_THROW(reduce_on_plateau({.cooldown = -1}), ValueError);
  EXPECT_THROW(reduce_on_plateau({.min_rate = -1.0f}), ValueError);
}

/// Records the running mean of "norm" after each epoch.
class StatisticsWatcher final : public Callback {
 public:
  std::vector<std::vector<float>> means = {};
  void on_epoch_end(const Progress& progress) override {
    const auto mean = progress.training->model()
                          .layer("norm")
                          .parameter("moving_mean")
                          .variable.value()
                          .f32();
    means.emplace_back(mean.begin(), mean.end());
  }
};

TEST(FreezeBatchNorm, FreezesTheStatisticsFromTheEpochOn) {
  Model model = image_network();
  const auto watcher = std::make_shared<StatisticsWatcher>();
  fit(model, images(32, 1),
      {.epochs = 4,
       .batch_size = 8,
       .callbacks = {freeze_batch_norm(2), watcher}});
  ASSERT_EQ(watcher->means.size(), 4u);
  EXPECT_NE(watcher->means[0], watcher->means[1]);
  EXPECT_EQ(watcher->means[1], watcher->means[2]);
  EXPECT_EQ(watcher->means[2], watcher->means[3]);
  EXPECT_TRUE(model.layer("norm").statistics_frozen());
}

TEST(FreezeBatchNorm, FromEpochZeroEqualsFreezingBeforeTheFit) {
  Model by_callback = image_network(), by_hand = image_network();
  fit(by_callback, images(32, 1), {.callbacks = {freeze_batch_norm(0)}});
  quant::freeze_bn_stats(by_hand);
  fit(by_hand, images(32, 1));
  EXPECT_EQ(weights_of(by_callback), weights_of(by_hand));
}

TEST(FreezeBatchNorm, RejectsEpochsBeyondTheFit) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)freeze_batch_norm(-1); }),
            (Failure{"out_of_range", "freeze_batch_norm"}));
  Model model = image_network();
  const auto before = weights_of(model);
  EXPECT_EQ(failure_of<ValueError>([&] {
              fit(model, images(32, 1),
                  {.epochs = 3, .callbacks = {freeze_batch_norm(3)}});
            }),
            (Failure{"out_of_range", "freeze_batch_norm"}));
  EXPECT_EQ(weights_of(model), before);
}

// A resumed fit must have the same epoch.
TEST(FreezeBatchNorm, ResumesOnlyWithTheSameEpoch) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  const auto options = [&](Callbacks callbacks, bool resume) {
    return FitOptions{.epochs = 3,
                      .batch_size = 8,
                      .callbacks = std::move(callbacks),
                      .checkpoints = checkpoints,
                      .resume = resume};
  };
  Model model = image_network();
  fit(model, images(32, 1), options({freeze_batch_norm(1)}, false));
  for (Callbacks other : {Callbacks{freeze_batch_norm(2)}, Callbacks{}}) {
    Model again = image_network();
    EXPECT_THROW(fit(again, images(32, 1), options(other, true)), ValueError);
  }
  Model again = image_network();
  fit(again, images(32, 1), options({freeze_batch_norm(1)}, true));
  EXPECT_EQ(weights_of(again), weights_of(model));
}

TEST(CsvLog, WritesARowPerEpoch) {
  const Folder folder;
  const Dataset data = blobs(10);
  Model model = small_network();
  fit(model, data,
      {.epochs = 2,
       .optimizer = SGD({.learning_rate = 0.5f}),
       .validation = &data,
       .callbacks = {csv_log(folder / "log.csv")}});
  const std::vector<std::string> lines =
      lines_of(read_file(folder / "log.csv"));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "epoch,loss,accuracy,val_loss,val_accuracy,learning_rate,seconds");
  for (const size_t epoch : {1, 2}) {
    const std::vector<double> row = numbers_in(lines[epoch]);
    ASSERT_EQ(row.size(), 7u);
    EXPECT_EQ(row[0], epoch);
    EXPECT_EQ(row[5], 0.5);
  }
}

TEST(CsvLog, AppendsToRowsWithTheSameColumns) {
  const Folder folder;
  const auto run = [&](bool append, bool validation) {
    const Dataset data = blobs(10);
    Model model = small_network();
    fit(model, data,
        {.validation = validation ? &data : nullptr,
         .callbacks = {csv_log(folder / "log.csv", {.append = append})}});
    const std::string text = read_file(folder / "log.csv");
    return std::ranges::count(text, '\n');
  };
  EXPECT_EQ(run(true, false), 2);
  EXPECT_EQ(run(true, false), 3);
  EXPECT_THROW(run(true, true), FormatError);
  EXPECT_EQ(run(false, true), 2);
}

TEST(CsvLog, AppendsToAnEmptyFile) {
  const Folder folder;
  std::ofstream(folder / "log.csv");
  Model model = small_network();
  fit(model, blobs(10),
      {.callbacks = {csv_log(folder / "log.csv", {.append = true})}});
  EXPECT_THAT(read_file(folder / "log.csv"), StartsWith("epoch,loss,"));
}

TEST(CsvLog, RejectsAnInvalidFileName) {
  const Folder folder;
  const std::string name(300, 'x');
  for (const bool append : {false, true}) {
    Model model = small_network();
    EXPECT_THROW(fit(model, blobs(10),
                     {.callbacks = {csv_log(folder / name.c_str(),
                                            {.append = append})}}),
                 IoError);
  }
}

TEST(CsvLog, RejectsAnUnwritablePathBeforeTraining) {
  const Folder folder;
  Model model = small_network();
  const Tensor before =
      model.layer("hidden").parameter("kernel").variable.value().clone();
  EXPECT_THROW(
      fit(model, blobs(10), {.callbacks = {csv_log(folder / "none/log.csv")}}),
      IoError);
  const Tensor& after =
      model.layer("hidden").parameter("kernel").variable.value();
  EXPECT_TRUE(std::ranges::equal(before.f32(), after.f32()));
}

/// Runs a backward pass, as a callback that plots gradients would.
class Differentiates final : public Callback {
  void on_step(const Progress& progress) override {
    Model& model = progress.training->model();
    sum(model(Tensor::full({1, 2}, 3))).backward();
  }
};

TEST(Callbacks, DoNotAffectGradientsOfTheNextStep) {
  const auto trained = [](Callbacks callbacks, std::optional<int64_t> shards) {
    Model model = small_network();
    fit(model, blobs(40),
        {.epochs = 2,
         .batch_size = 8,
         .callbacks = std::move(callbacks),
         .shards = shards});
    return weights_of(model);
  };
  for (const int64_t shards : {1, 4}) {
    EXPECT_EQ(trained({std::make_shared<Differentiates>()}, shards),
              trained({}, shards));
  }
}

}  // namespace
}  // namespace octet::train
