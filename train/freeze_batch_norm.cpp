// The callback freeze_batch_norm().
#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/quant/qat.h>
#include <octet/runtime/error.h>
#include <octet/train/callbacks.h>

namespace octet::train {
namespace {

class FreezeBatchNorm final : public Callback {
 public:
  explicit FreezeBatchNorm(int64_t from_epoch) : from_epoch_(from_epoch) {
    if (from_epoch >= 0) return;
    throw ValueError(fmt::format(
        "freeze_batch_norm: expected an epoch >= 0, got {}", from_epoch));
  }

  void on_train_begin(const Progress& progress) override {
    if (from_epoch_ < progress.epochs) return;
    throw ValueError(fmt::format(
        "freeze_batch_norm: expected an epoch of this fit, [0,{}), got {}: "
        "statistics would never be frozen. Hint: epochs count from 0",
        progress.epochs, from_epoch_));
  }
  // What is frozen belongs to the model's state: a fit that goes on within an
  // epoch has it already. Which epoch it was has to be the same.
  std::string state_name() const override { return "freeze_batch_norm"; }
  State state() const override {
    return {Config().set("from_epoch", from_epoch_), {}};
  }
  void restore(const State& state, const Progress&) override {
    const int64_t before = state.values.at("from_epoch").as_int();
    if (before == from_epoch_) return;
    throw ValueError(fmt::format(
        "freeze_batch_norm: expected a state of epoch {}, got one of {}",
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
