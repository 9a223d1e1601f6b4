#include <cmath>

#include <octet/train/optimizer.h>

#include "checks.h"

namespace octet::train {
namespace {

class LambRule final : public UpdateRule {
 public:
  explicit LambRule(const LAMBOptions& options) : options_(options) {
    check_learning_rate("LAMB", options.learning_rate);
    check_decay("LAMB", "beta1", options.beta1);
    check_decay("LAMB", "beta2", options.beta2);
    // At 0 a parameter that never had a gradient would become 0 / 0.
    check_epsilon("LAMB", options.epsilon);
    check_weight_decay("LAMB", weight_decay());
  }

  int slots() const override { return 2; }
  float learning_rate() const override { return options_.learning_rate; }
  WeightDecay weight_decay() const override {
    return {options_.weight_decay, options_.decay_min_rank};
  }

  Config config() const override {
    return Config()
        .set("class_name", "LAMB")
        .set("learning_rate", options_.learning_rate)
        .set("beta1", options_.beta1)
        .set("beta2", options_.beta2)
        .set("epsilon", options_.epsilon)
        .set("weight_decay", options_.weight_decay)
        .set("decay_min_rank", options_.decay_min_rank);
  }

  void update(std::span<float> value, std::span<const float> gradient,
              std::span<Tensor> slots, float learning_rate,
              int64_t step) const override {
    const auto t = static_cast<double>(step);
    const auto first =
        static_cast<float>(1 / (1 - std::pow(options_.beta1, t)));
    const auto second =
        static_cast<float>(1 / (1 - std::pow(options_.beta2, t)));
    const float beta1 = options_.beta1;
    const float beta2 = options_.beta2;
    const size_t n = value.size();
    float* w = value.data();
    const float* g = gradient.data();
    float* m = slots[0].f32().data();
    float* v = slots[1].f32().data();
    const auto direction = [&](size_t i) {
      return first * m[i] / (std::sqrt(second * v[i]) + options_.epsilon);
    };
    double w_squares = 0;
    double r_squares = 0;
    for (size_t i = 0; i < n; ++i) {
      m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
      v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
      const double r = direction(i);
      w_squares += double{w[i]} * double{w[i]};
      r_squares += r * r;
    }
    const double trust = w_squares > 0 && r_squares > 0
                             ? std::sqrt(w_squares) / std::sqrt(r_squares)
                             : 1;
    const auto rate = static_cast<float>(double{learning_rate} * trust);
    for (size_t i = 0; i < n; ++i) w[i] -= rate * direction(i);
  }

 private:
  LAMBOptions options_;
};

}  // namespace

LAMB::LAMB(const LAMBOptions& options)
    : Optimizer(std::make_shared<LambRule>(options)) {}

}  // namespace octet::train
