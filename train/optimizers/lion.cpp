#include <octet/train/optimizer.h>

#include "checks.h"

namespace octet::train {
namespace {

class LionRule final : public UpdateRule {
 public:
  explicit LionRule(const LionOptions& options) : options_(options) {
    check_learning_rate("Lion", options.learning_rate);
    check_decay("Lion", "beta1", options.beta1);
    check_decay("Lion", "beta2", options.beta2);
    check_weight_decay("Lion", weight_decay());
  }

  int slots() const override { return 1; }
  float learning_rate() const override { return options_.learning_rate; }
  WeightDecay weight_decay() const override {
    return {options_.weight_decay, options_.decay_min_rank};
  }

  Config config() const override {
    return Config()
        .set("class_name", "Lion")
        .set("learning_rate", options_.learning_rate)
        .set("beta1", options_.beta1)
        .set("beta2", options_.beta2)
        .set("weight_decay", options_.weight_decay)
        .set("decay_min_rank", options_.decay_min_rank);
  }

  bool elementwise() const override { return true; }
  void update(std::span<float> value, std::span<const float> gradient,
              std::span<Tensor> slots, float learning_rate,
              int64_t /*step*/) const override {
    const float beta1 = options_.beta1;
    const float beta2 = options_.beta2;
    const size_t n = value.size();
    float* w = value.data();
    const float* g = gradient.data();
    float* m = slots[0].f32().data();
    for (size_t i = 0; i < n; ++i) {
      const float direction = beta1 * m[i] + (1.0f - beta1) * g[i];
      // Propagates NaN.
      const float sign = direction > 0   ? 1.0f
                         : direction < 0 ? -1.0f
                                         : direction;
      w[i] -= learning_rate * sign;
      m[i] = beta2 * m[i] + (1.0f - beta2) * g[i];
    }
  }

 private:
  LionOptions options_;
};

}  // namespace

Lion::Lion(const LionOptions& options)
    : Optimizer(std::make_shared<LionRule>(options)) {}

}  // namespace octet::train
