// MomentsRule: base of the update rules with two moments, Adam and LAMB.
// Internal to train.
#pragma once

#include <string>
#include <string_view>

#include <octet/train/optimizer.h>

#include "checks.h"

namespace octet::train {

class MomentsRule : public UpdateRule {
 public:
  /// `subject` is the name in errors, `class_name` the name in config().
  MomentsRule(std::string_view subject, std::string_view class_name,
              const AdamOptions& options)
      : options_(options), class_name_(class_name) {
    check_learning_rate(subject, options.learning_rate);
    check_decay(subject, "beta1", options.beta1);
    check_decay(subject, "beta2", options.beta2);
    // With 0, a parameter that never had a gradient would become 0 / 0.
    check_epsilon(subject, options.epsilon);
    check_weight_decay(subject, weight_decay());
  }

  int slots() const override { return 2; }
  float learning_rate() const override { return options_.learning_rate; }
  WeightDecay weight_decay() const override {
    return {options_.weight_decay, options_.decay_min_rank};
  }
  Config config() const override {
    return Config()
        .set("class_name", class_name_)
        .set("learning_rate", options_.learning_rate)
        .set("beta1", options_.beta1)
        .set("beta2", options_.beta2)
        .set("epsilon", options_.epsilon)
        .set("weight_decay", options_.weight_decay)
        .set("decay_min_rank", options_.decay_min_rank);
  }

 protected:
  const AdamOptions options_;

 private:
  std::string class_name_;
};

}  // namespace octet::train
