// The callback freeze_batch_norm().
#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/runtime/error.h>
#include <octet/train/callback.h>

namespace octet::train {
namespace {

class FreezeBatchNorm final : public Callback {
 public:
  explicit FreezeBatchNorm(int64_t from_epoch) : from_epoch_(from_epoch) {
    if (from_epoch >= 0) return;
    throw ValueError(
        "out_of_range", "freeze_batch_norm",
        fmt::format("from_epoch must be at least 0, got {}", from_epoch));
  }

  void on_train_begin(const Progress& progress) override {
    if (from_epoch_ < progress.epochs) return;
    throw ValueError(
        "out_of_range", "freeze_batch_norm",
        fmt::format("from_epoch must be in [0, {}), the epochs of the fit, got "
                    "{}. Hint: epochs count from 0",
                    progress.epochs, from_epoch_));
  }
  // The model's state includes frozen statistics; the callback's state only
  // ensures that the epoch agrees.
  std::string state_name() const override { return "freeze_batch_norm"; }
  CallbackState state() const override {
    return {Config().set("from_epoch", from_epoch_), {}};
  }
  void restore(const CallbackState& state, const Progress&) override {
    const int64_t before = state.values.at("from_epoch").as_int();
    if (before == from_epoch_) return;
    throw ValueError("conflicting_options", "freeze_batch_norm",
                     fmt::format("from_epoch is {}, but {} in the checkpoint",
                                 from_epoch_, before));
  }
  void on_epoch_begin(const Progress& progress) override {
    if (progress.epoch < from_epoch_) return;
    quant::freeze_bn_stats(progress.training->model());
  }

 private:
  int64_t from_epoch_;
};

}  // namespace

std::shared_ptr<Callback> freeze_batch_norm(int64_t from_epoch) {
  return std::make_shared<FreezeBatchNorm>(from_epoch);
}

}  // namespace octet::train
