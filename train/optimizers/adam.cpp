#include <cmath>
#include <string_view>

#include <octet/train/optimizer.h>

#include "moments_rule.h"

namespace octet::train {
namespace {

class AdamRule final : public MomentsRule {
 public:
  AdamRule(std::string_view name, const AdamOptions& options)
      : MomentsRule(name, "Adam", options) {}

  bool elementwise() const override { return true; }
  // Epsilon is added outside the root, with the bias correction in the learning
  // rate ("epsilon hat" of the paper, section 2).
  // Source: keras/src/optimizers/adam.py, Adam.update_step.
  void update(std::span<float> value, std::span<const float> gradient,
              std::span<Tensor> slots, float learning_rate,
              int64_t step) const override {
    const auto t = static_cast<double>(step);
    // In double: for small t, 1 - beta2^t would lose half of a float's digits.
    const double correction = std::sqrt(1.0 - std::pow(options_.beta2, t)) /
                              (1.0 - std::pow(options_.beta1, t));
    const auto rate = static_cast<float>(double{learning_rate} * correction);
    const float beta1 = options_.beta1;
    const float beta2 = options_.beta2;
    const float epsilon = options_.epsilon;

    const size_t n = value.size();
    float* w = value.data();
    const float* g = gradient.data();
    float* m = slots[0].f32().data();
    float* v = slots[1].f32().data();
    for (size_t i = 0; i < n; ++i) {
      m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
      v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
      w[i] -= rate * m[i] / (std::sqrt(v[i]) + epsilon);
    }
  }
};

}  // namespace

Adam::Adam() : Adam(AdamOptions()) {}

Adam::Adam(const AdamOptions& options)
    : Optimizer(std::make_shared<AdamRule>("Adam", options)) {}

AdamW::AdamW(const AdamWOptions& options)
    : Optimizer(std::make_shared<AdamRule>(
          "AdamW", AdamOptions{.learning_rate = options.learning_rate,
                               .beta1 = options.beta1,
                               .beta2 = options.beta2,
                               .epsilon = options.epsilon,
                               .weight_decay = options.weight_decay,
                               .decay_min_rank = options.decay_min_rank})) {}

}  // namespace octet::train
