#include <optional>
#include <utility>

#include <octet/runtime/error.h>
#include <octet/train/callbacks.h>

#include "checks.h"
#include "monitor.h"

namespace octet::train {
namespace {

class Checkpoint final : public Callback {
 public:
  Checkpoint(std::function<void(const Model&, const Progress&)> save,
             const CheckpointOptions& options)
      : save_(std::move(save)), every_(options.every) {
    if (!save_) {
      throw ValueError(
          "checkpoint: expected a function that saves, got an empty one");
    }
    check_positive("checkpoint", "every", options.every);
    if (!options.monitor.empty()) {
      monitor_.emplace("checkpoint", options.monitor, options.better, 0.0);
    }
  }

  void on_train_begin(const Progress& progress) override {
    if (monitor_) monitor_->begin(progress);
  }

  void on_epoch_end(const Progress& progress) override {
    if ((progress.epoch + 1) % every_ != 0) return;
    if (monitor_ && !monitor_->improves(progress)) return;
    save_(progress.training->model(), progress);
  }

  std::string state_name() const override {
    return monitor_ ? "checkpoint" : "";
  }
  State state() const override {
    if (!monitor_) return {};
    return {Config().set("best", monitor_->best())};
  }
  void restore(const State& state, const Progress&) override {
    if (monitor_) monitor_->set_best(state.values.at("best").as_number());
  }

 private:
  std::function<void(const Model&, const Progress&)> save_;
  int64_t every_;
  std::optional<Monitor> monitor_;
};

}  // namespace

std::shared_ptr<Callback> checkpoint(
    std::function<void(const Model&, const Progress&)> save,
    const CheckpointOptions& options) {
  return std::make_shared<Checkpoint>(std::move(save), options);
}

}  // namespace octet::train
