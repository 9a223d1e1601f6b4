#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/callback.h>

#include "checks.h"
#include "monitor.h"

namespace octet::train {
namespace {

class ReduceOnPlateau final : public Callback {
 public:
  explicit ReduceOnPlateau(const ReduceOnPlateauOptions& options)
      : options_(options),
        monitor_("reduce_on_plateau", options.monitor, options.better,
                 options.min_delta) {
    if (!(options.factor > 0.0f && options.factor < 1.0f)) {
      throw ValueError("out_of_range", "reduce_on_plateau",
                       fmt::format("factor must be in (0, 1), got {}",
                                   number_text(options.factor)));
    }
    check_positive("reduce_on_plateau", "patience", options.patience);
    check_not_negative("reduce_on_plateau", "cooldown", options.cooldown);
    if (!(options.min_rate >= 0.0f) || std::isinf(options.min_rate)) {
      throw ValueError(
          "out_of_range", "reduce_on_plateau",
          fmt::format("min_rate must be finite and at least 0, got {}",
                      number_text(options.min_rate)));
    }
  }

  std::string monitored() const override { return monitor_.name(); }
  void on_train_begin(const Progress& progress) override {
    monitor_.begin(progress);
    waited_ = 0;
    cooldown_ = 0;
  }

  // Source: keras/src/callbacks/reduce_lr_on_plateau.py, on_epoch_end.
  void on_epoch_end(const Progress& progress) override {
    if (cooldown_ > 0) {
      --cooldown_;
      waited_ = 0;
    }
    if (monitor_.improves(progress)) {
      waited_ = 0;
      return;
    }
    if (cooldown_ > 0) return;
    if (++waited_ < options_.patience) return;
    Optimizer& optimizer = progress.training->optimizer();
    const float rate = optimizer.learning_rate();
    if (!(rate > options_.min_rate)) return;
    optimizer.set_learning_rate(
        std::max(rate * options_.factor, options_.min_rate));
    cooldown_ = options_.cooldown;
    waited_ = 0;
  }

  std::string state_name() const override { return "reduce_on_plateau"; }
  CallbackState state() const override {
    return {Config()
                .set("best", monitor_.best())
                .set("waited", waited_)
                .set("cooldown", cooldown_)};
  }
  void restore(const CallbackState& state, const Progress&) override {
    monitor_.set_best(state.values.at("best").as_number());
    waited_ = state.values.at("waited").as_int();
    cooldown_ = state.values.at("cooldown").as_int();
  }

 private:
  ReduceOnPlateauOptions options_;
  Monitor monitor_;
  int64_t waited_ = 0;
  int64_t cooldown_ = 0;
};

}  // namespace

std::shared_ptr<Callback> reduce_on_plateau(
    const ReduceOnPlateauOptions& options) {
  return std::make_shared<ReduceOnPlateau>(options);
}

}  // namespace octet::train
