#include <string>
#include <utility>

#include <octet/train/callback.h>

#include "checks.h"
#include "kept_parameters.h"
#include "monitor.h"

namespace octet::train {
namespace {

class EarlyStopping final : public Callback {
 public:
  explicit EarlyStopping(const EarlyStoppingOptions& options)
      : options_(options),
        monitor_("early_stopping", options.monitor, options.better,
                 options.min_delta) {
    check_not_negative("early_stopping", "patience", options.patience);
    check_not_negative("early_stopping", "start_from_epoch",
                       options.start_from_epoch);
  }

  std::string monitored() const override { return monitor_.name(); }
  void on_train_begin(const Progress& progress) override {
    monitor_.begin(progress);
    best_.clear();
    waited_ = 0;
  }

  void on_epoch_end(const Progress& progress) override {
    if (progress.epoch < options_.start_from_epoch) return;
    const bool better = monitor_.improves(progress);
    // Saves the first epoch even if its value is NaN.
    if (options_.restore_best_weights && (better || best_.empty())) {
      best_ = copy_values(progress.training->model());
    }
    waited_ = better ? 0 : waited_ + 1;
    if (!better && waited_ >= options_.patience && progress.epoch > 0) {
      progress.training->stop();
    }
  }

  bool sets_final_weights() const override {
    return options_.restore_best_weights;
  }
  void on_train_end(const Progress& progress) override {
    assign_values(progress.training->model(), best_);
    best_.clear();
  }

  std::string state_name() const override { return "early_stopping"; }
  CallbackState state() const override {
    return {Config().set("best", monitor_.best()).set("waited", waited_),
            best_};
  }
  void restore(const CallbackState& state, const Progress& progress) override {
    NamedTensors best;
    if (!state.tensors.empty()) {
      best = checked_values("early_stopping",
                            std::as_const(*progress.training).model(),
                            state.tensors);
    }
    monitor_.set_best(state.values.at("best").as_number());
    waited_ = state.values.at("waited").as_int();
    best_ = std::move(best);
  }

 private:
  EarlyStoppingOptions options_;
  Monitor monitor_;
  int64_t waited_ = 0;
  NamedTensors best_;
};

}  // namespace

std::shared_ptr<Callback> early_stopping(const EarlyStoppingOptions& options) {
  return std::make_shared<EarlyStopping>(options);
}

}  // namespace octet::train
