#include <algorithm>
#include <cmath>

#include <octet/train/optimizer.h>

#include "checks.h"

namespace octet::train {
namespace {

class RmspropRule final : public UpdateRule {
 public:
  explicit RmspropRule(const RMSpropOptions& options) : options_(options) {
    check_learning_rate("RMSprop", options.learning_rate);
    check_decay("RMSprop", "rho", options.rho);
    check_decay("RMSprop", "momentum", options.momentum);
    check_epsilon("RMSprop", options.epsilon);
    check_weight_decay("RMSprop", weight_decay());
  }

  /// Mean squares, then the mean if centered, then the velocity with momentum.
  int slots() const override {
    return 1 + (options_.centered ? 1 : 0) + (options_.momentum > 0 ? 1 : 0);
  }
  float learning_rate() const override { return options_.learning_rate; }
  WeightDecay weight_decay() const override {
    return {options_.weight_decay, options_.decay_min_rank};
  }

  Config config() const override {
    return Config()
        .set("class_name", "RMSprop")
        .set("learning_rate", options_.learning_rate)
        .set("rho", options_.rho)
        .set("momentum", options_.momentum)
        .set("epsilon", options_.epsilon)
        .set("centered", options_.centered)
        .set("weight_decay", options_.weight_decay)
        .set("decay_min_rank", options_.decay_min_rank);
  }

  bool elementwise() const override { return true; }
  void update(std::span<float> value, std::span<const float> gradient,
              std::span<Tensor> slots, float learning_rate,
              int64_t /*step*/) const override {
    const float rho = options_.rho;
    const float momentum = options_.momentum;
    const float epsilon = options_.epsilon;
    float* square = slots[0].f32().data();
    float* mean = options_.centered ? slots[1].f32().data() : nullptr;
    float* velocity = momentum > 0 ? slots.back().f32().data() : nullptr;
    for (size_t i = 0; i < value.size(); ++i) {
      const float g = gradient[i];
      square[i] = rho * square[i] + (1.0f - rho) * g * g;
      float spread = square[i];
      if (mean != nullptr) {
        mean[i] = rho * mean[i] + (1.0f - rho) * g;
        // For a constant gradient the difference is a rounding error, which may
        // be negative.
        spread = std::max(spread - mean[i] * mean[i], 0.0f);
      }
      float change = learning_rate * g / std::sqrt(spread + epsilon);
      if (velocity != nullptr) {
        velocity[i] = momentum * velocity[i] + change;
        change = velocity[i];
      }
      value[i] -= change;
    }
  }

 private:
  RMSpropOptions options_;
};

}  // namespace

RMSprop::RMSprop(const RMSpropOptions& options)
    : Optimizer(std::make_shared<RmspropRule>(options)) {}

}  // namespace octet::train
