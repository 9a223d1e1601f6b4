#include <cmath>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/optimizer.h>

#include "checks.h"

namespace octet::train {

struct Optimizer::State : OptimizerState {
  std::vector<Variable> parameters;
};

Optimizer::Optimizer(std::shared_ptr<const UpdateRule> rule)
    : rule_(std::move(rule)), state_(std::make_shared<State>()) {
  if (rule_ == nullptr) {
    throw ValueError("optimizer: expected an update rule, got a null pointer");
  }
}

void Optimizer::attach(std::vector<Variable> parameters) {
  State state;
  std::unordered_set<const autograd::Node*> seen;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Variable& parameter = parameters[i];
    if (!parameter || !parameter.is_leaf() || !parameter.requires_grad()) {
      throw ValueError(
          fmt::format("optimizer: expected parameters that take a gradient, "
                      "got one without at index {}",
                      i));
    }
    // Parameters are updated in parallel, so each may appear only once.
    if (!seen.insert(parameter.node().get()).second) {
      throw ValueError(
          fmt::format("optimizer: expected each parameter once, got a repeated "
                      "one at index {}",
                      i));
    }
    std::vector<Tensor>& slots = state.slots.emplace_back();
    for (int slot = 0; slot < rule_->slots(); ++slot) {
      slots.push_back(Tensor::zeros(parameter.shape()));
    }
  }
  state.parameters = std::move(parameters);
  state.learning_rate = state_->learning_rate;
  *state_ = std::move(state);
}

void Optimizer::step(float factor, MissingGradients missing) {
  if (!(factor >= 0.0f) || std::isinf(factor)) {
    throw ValueError(
        fmt::format("optimizer: expected a finite factor >= 0 of the learning "
                    "rate, got {}",
                    number_text(factor)));
  }
  expect_attached();
  State& state = *state_;

  struct Update {
    WriteSpan value;
    std::span<const float> gradient;
    std::span<Tensor> slots;
    int rank;
  };
  // A Variable belongs to this thread: the tasks see only its numbers.
  std::vector<Update> updates;
  updates.reserve(state.parameters.size());
  for (size_t i = 0; i < state.parameters.size(); ++i) {
    const Variable& parameter = state.parameters[i];
    const Tensor& gradient = parameter.grad();
    if (gradient.empty()) continue;
    updates.push_back({parameter.mutable_value(), gradient.f32(),
                       state.slots[i], parameter.shape().rank()});
  }

  if (updates.empty() && missing == MissingGradients::refuse) {
    throw ValueError(fmt::format(
        "optimizer: none of the {} attached parameters has a gradient. Hint: "
        "call backward() before step(), and attach the parameters of the model "
        "that trains: a quantized or cloned model has its own, "
        "attach(model.trainable_variables())",
        state.parameters.size()));
  }

  const float rate = learning_rate() * factor;
  const WeightDecay decay = rule_->weight_decay();
  const int64_t step = ++state.steps;
  parallel_for(static_cast<int64_t>(updates.size()), [&](int64_t i) {
    const Update& update = updates[static_cast<size_t>(i)];
    if (decay.rate != 0.0f && update.rank >= decay.min_rank) {
      for (float& w : update.value) w -= w * decay.rate * rate;
    }
    rule_->update(update.value, update.gradient, update.slots, rate, step);
  });
  zero_grad();
}

void Optimizer::zero_grad() const {
  for (const Variable& parameter : state_->parameters) parameter.zero_grad();
}

void Optimizer::expect_attached() const {
  if (!state_->parameters.empty()) return;
  throw ValueError(
      "optimizer: expected attached parameters, got none. Hint: call "
      "attach(model.trainable_variables()) before step()");
}

void Optimizer::minimize(const Variable& loss) {
  expect_attached();
  zero_grad();
  loss.backward();
  step();
}

float Optimizer::learning_rate() const {
  return state_->learning_rate.value_or(rule_->learning_rate());
}

void Optimizer::set_learning_rate(float rate) {
  check_learning_rate("optimizer", rate);
  state_->learning_rate = rate;
}

int64_t Optimizer::steps() const { return state_->steps; }

OptimizerState Optimizer::state() const { return *state_; }

void Optimizer::restore(const OptimizerState& state) {
  const auto& slots = state_->slots;
  if (state.steps < 0 || state.slots.size() != slots.size()) {
    throw ValueError(fmt::format(
        "optimizer: expected the state of {} parameters, got that of {} after "
        "{} steps",
        slots.size(), state.slots.size(), state.steps));
  }
  if (state.learning_rate) {
    check_learning_rate("optimizer", *state.learning_rate);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (state.slots[i].size() != slots[i].size()) {
      throw ValueError(
          fmt::format("optimizer: expected {} tensors for parameter {}, got {}",
                      slots[i].size(), i, state.slots[i].size()));
    }
    for (size_t slot = 0; slot < slots[i].size(); ++slot) {
      const Tensor& given = state.slots[i][slot];
      const Shape& shape = slots[i][slot].shape();
      if (given.empty() || given.dtype() != DType::f32 ||
          given.shape() != shape) {
        throw ShapeError(fmt::format(
            "optimizer: expected a tensor f32 {} for parameter {}, got {}",
            shape.to_string(), i,
            given.empty() ? "none" : given.shape().to_string()));
      }
    }
  }
  std::vector<std::vector<Tensor>> copies;
  for (const auto& tensors : state.slots) {
    auto& to = copies.emplace_back();
    for (const Tensor& tensor : tensors) to.push_back(tensor.clone());
  }
  state_->steps = state.steps;
  state_->learning_rate = state.learning_rate;
  state_->slots = std::move(copies);
}

}  // namespace octet::train
