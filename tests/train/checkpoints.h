// Checkpoints in memory, and a fit with all kinds of state.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "tests/support.h"
#include "weights.h"

namespace octet::train {

inline TrainingState copy_of(const TrainingState& state) {
  TrainingState copy = state;
  for (quant::NamedWeight& weight : copy.model.weights) {
    weight.value = weight.value.clone();
  }
  for (auto& [name, tensor] : copy.tensors) tensor = tensor.clone();
  return copy;
}

/// Stores every state.
class MemoryCheckpoints final : public Checkpointer {
 public:
  explicit MemoryCheckpoints(int64_t every = 1) : every_(every) {}

  std::string name() const override { return "memory"; }
  std::shared_ptr<void> claim() override {
    if (!claimed_.expired())
      throw IoError("invalid_state", "memory", "another fit is running");
    auto claim = std::make_shared<int>(0);
    claimed_ = claim;
    return claim;
  }
  bool empty() const override { return states.empty(); }
  std::optional<TrainingState> latest() const override {
    if (states.empty()) return std::nullopt;
    return copy_of(states.back());
  }
  bool wanted(int64_t steps) const override { return steps % every_ == 0; }
  void save(const TrainingState& state) override {
    if (full) throw IoError("cannot_write", "memory", "no space left");
    states.push_back(copy_of(state));
  }

  std::vector<TrainingState> states;
  bool full = false;

 private:
  int64_t every_;
  std::weak_ptr<int> claimed_;
};

/// Returns a history without its seconds as text.
inline std::string text_of(const History& history) {
  std::string text;
  const auto add = [&](const std::vector<MetricValue>& values) {
    for (const MetricValue& each : values) {
      text += fmt::format(" {} {}", each.name, each.value);
    }
  };
  for (const EpochResult& epoch : history) {
    text += fmt::format("loss {} accuracy {} rate {}", epoch.loss,
                        epoch.accuracy, epoch.learning_rate);
    add(epoch.metrics);
    if (epoch.gradient_norm) text += fmt::format(" {}", *epoch.gradient_norm);
    for (const Evaluation& each : epoch.validation) {
      text += fmt::format(" validation {} {} {}", each.loss, each.accuracy,
                          each.samples);
      add(each.metrics);
    }
    text += '\n';
  }
  return text;
}

/// Images [6,5,1] of two classes, too noisy to be learned in a few steps.
inline Dataset images(int64_t n, uint64_t seed) {
  Tensor inputs = noise({n, 6, 5, 1}, seed);
  Tensor labels(Shape{n}, DType::i64);
  const auto x = inputs.f32();
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    labels.data<int64_t>()[at] = i % 2;
    for (size_t k = 0; k < 30; ++k) {
      x[at * 30 + k] += i % 2 == 0 ? 0.1f : -0.1f;
    }
  }
  return Dataset(inputs, labels);
}

/// Network with batch normalization, dropout and a regularizer.
inline Model image_network(uint64_t seed = 3) {
  const SymbolicTensor image = input({6, 5, 1}, "image");
  SymbolicTensor x = Conv2D({.filters = 4,
                             .kernel_regularizer = {.l2 = 1e-3f},
                             .name = "conv"})(image);
  x = ReLU({.name = "relu"})(
      BatchNormalization({.momentum = 0.9f, .name = "norm"})(x));
  x = Dropout({.rate = 0.25f, .name = "drop"})(Flatten({.name = "flat"})(x));
  return Model(image, Dense({.units = 2, .name = "logits"})(x),
               {.name = "images", .seed = seed});
}

}  // namespace octet::train
