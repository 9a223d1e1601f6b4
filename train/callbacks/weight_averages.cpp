// The callback exponential_moving_average().
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/callback.h>

#include "checks.h"
#include "kept_parameters.h"

namespace octet::train {
namespace {

class WeightAverages final : public Callback {
 public:
  explicit WeightAverages(const MovingAverageOptions& options)
      : options_(options) {
    check_decay("exponential_moving_average", "decay", options.decay);
  }

  void on_train_begin(const Progress& progress) override {
    averages_ = keep_trained_parameters(progress.training->model());
    steps_ = 0;  // a fit attaches the optimizer anew
  }

  void on_step(const Progress& progress) override {
    // Batches that only accumulate gradients do not change parameters.
    const int64_t steps = progress.training->optimizer().steps();
    if (steps == steps_) return;
    steps_ = steps;
    struct Update {
      const float* from;
      std::span<float> to;
    };
    std::vector<Update> updates;
    for (KeptParameter& average : averages_) {
      updates.push_back({std::as_const(average.variable).value().f32().data(),
                         average.value.f32()});
    }
    const float decay = options_.decay;
    parallel_for(std::ssize(updates), [&](int64_t i) {
      const auto& [from, to] = updates[static_cast<size_t>(i)];
      for (size_t k = 0; k < to.size(); ++k) {
        to[k] = decay * to[k] + (1 - decay) * from[k];
      }
    });
  }

  bool sets_final_weights() const override { return true; }
  void on_train_end(const Progress&) override {
    put_back(averages_);
    averages_.clear();
  }

  std::string state_name() const override {
    return "exponential_moving_average";
  }
  CallbackState state() const override {
    return {Config().set("decay", options_.decay).set("steps", steps_),
            tensors_of(averages_)};
  }
  void restore(const CallbackState& state, const Progress& progress) override {
    if (static_cast<float>(state.values.at("decay").as_number()) !=
        options_.decay) {
      throw ValueError(
          "conflicting_options", "exponential_moving_average",
          fmt::format(
              "decay is {}, but {} in the checkpoint", options_.decay,
              static_cast<float>(state.values.at("decay").as_number())));
    }
    KeptParameters averages =
        keep_trained_parameters(progress.training->model());
    read_tensors("exponential_moving_average", state.tensors, averages);
    steps_ = state.values.at("steps").as_int();
    averages_ = std::move(averages);
  }

 private:
  MovingAverageOptions options_;
  KeptParameters averages_;
  int64_t steps_ = 0;
};

}  // namespace

std::shared_ptr<Callback> exponential_moving_average(
    const MovingAverageOptions& options) {
  return std::make_shared<WeightAverages>(options);
}

}  // namespace octet::train
