#include <cmath>

#include <octet/train/optimizer.h>

#include "moments_rule.h"

namespace octet::train {
namespace {

class LambRule final : public MomentsRule {
 public:
  explicit LambRule(const LAMBOptions& options)
      : MomentsRule("LAMB", "LAMB", options) {}

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
};

}  // namespace

LAMB::LAMB(const LAMBOptions& options)
    : Optimizer(std::make_shared<LambRule>(options)) {}

}  // namespace octet::train
