#include <octet/runtime/error.h>
#include <octet/train/optimizer.h>

#include "checks.h"

namespace octet::train {
namespace {

class SgdRule final : public UpdateRule {
 public:
  explicit SgdRule(const SGDOptions& options) : options_(options) {
    check_learning_rate("SGD", options.learning_rate);
    check_decay("SGD", "momentum", options.momentum);
    check_weight_decay("SGD", weight_decay());
    if (options.nesterov && options.momentum == 0.0f) {
      throw ValueError("conflicting_options", "SGD",
                       "nesterov requires momentum above 0. Hint: set "
                       ".momentum = 0.9");
    }
  }

  int slots() const override { return options_.momentum > 0.0f ? 1 : 0; }
  float learning_rate() const override { return options_.learning_rate; }
  WeightDecay weight_decay() const override {
    return {options_.weight_decay, options_.decay_min_rank};
  }

  Config config() const override {
    return Config()
        .set("class_name", "SGD")
        .set("learning_rate", options_.learning_rate)
        .set("momentum", options_.momentum)
        .set("nesterov", options_.nesterov)
        .set("weight_decay", options_.weight_decay)
        .set("decay_min_rank", options_.decay_min_rank);
  }

  bool elementwise() const override { return true; }
  void update(std::span<float> value, std::span<const float> gradient,
              std::span<Tensor> slots, float learning_rate,
              int64_t /*step*/) const override {
    const size_t n = value.size();
    float* w = value.data();
    const float* g = gradient.data();
    if (slots.empty()) {
      for (size_t i = 0; i < n; ++i) w[i] -= learning_rate * g[i];
      return;
    }
    // The velocity includes the learning rates of its steps: a new rate does
    // not scale the accumulated velocity.
    const float momentum = options_.momentum;
    float* v = slots[0].f32().data();
    if (options_.nesterov) {
      for (size_t i = 0; i < n; ++i) {
        const float change = learning_rate * g[i];
        v[i] = momentum * v[i] - change;
        w[i] += momentum * v[i] - change;
      }
    } else {
      for (size_t i = 0; i < n; ++i) {
        v[i] = momentum * v[i] - learning_rate * g[i];
        w[i] += v[i];
      }
    }
  }

 private:
  SGDOptions options_;
};

}  // namespace

SGD::SGD(const SGDOptions& options)
    : Optimizer(std::make_shared<SgdRule>(options)) {}

}  // namespace octet::train
