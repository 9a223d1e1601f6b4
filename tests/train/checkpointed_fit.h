// A fit that can be repeated from any checkpoint, and its result.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/file.h>

#include "checkpoints.h"

namespace octet::train {

/// Freezes layers during training; has no state.
class Freezer final : public Callback {
 public:
  void on_epoch_end(const Progress& progress) override {
    Model& model = progress.training->model();
    for (const auto& layer : model.layers()) {
      if (progress.epoch == 1 && layer->name().ends_with("conv")) {
        layer->set_trainable(false);
      }
    }
  }
};

/// Each run creates a new model, optimizer and callbacks.
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
                      csv_log(log), freeze_batch_norm(1),
                      std::make_shared<Freezer>()},
        .clip_norm = 1.0f,
        .gradient_norm = true,
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
    Config status;  // training passes, frozen flags, quantizers
    bool operator==(const Result&) const = default;
  };

  Result run(std::shared_ptr<Checkpointer> checkpoints = {},
             bool resume = false) const {
    Model trained = model();
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
  /// Returns the log without its last column, the seconds.
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

}  // namespace octet::train
