#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/optimizer.h>

#include "checks.h"
#include "distributed/float_tree.h"

namespace octet::train {

namespace {

// Update of a parameter.
struct Update {
  WriteSpan value;
  std::span<const float> gradient;
  std::span<Tensor> slots;
  int rank;
};

// Elements of a parameter.
struct Part {
  int64_t first, count;
};

// Decays and updates a part of a parameter with the part's slots.
void apply(const UpdateRule& rule, const Update& update,
           std::span<Tensor> slots, const Part& part, float rate,
           int64_t step) {
  const auto first = static_cast<size_t>(part.first);
  const auto count = static_cast<size_t>(part.count);
  const std::span<float> value(update.value.begin() + part.first, count);
  const WeightDecay decay = rule.weight_decay();
  if (decay.rate != 0.0f && update.rank >= decay.min_rank) {
    for (float& w : value) w -= w * decay.rate * rate;
  }
  rule.update(value, update.gradient.subspan(first, count), slots, rate, step);
}

}  // namespace

struct Optimizer::State : OptimizerState {
  std::vector<Variable> parameters;
};

Optimizer::Optimizer(std::shared_ptr<const UpdateRule> rule)
    : rule_(std::move(rule)), state_(std::make_shared<State>()) {
  if (rule_ == nullptr) {
    throw ValueError("missing_value", "Optimizer",
                     "the update rule must not be null");
  }
}

void Optimizer::attach(std::vector<Variable> parameters) {
  State state;
  std::unordered_set<const autograd::Node*> seen;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Variable& parameter = parameters[i];
    if (!parameter || !parameter.is_leaf() || !parameter.requires_grad()) {
      throw ValueError(
          "no_gradient", "Optimizer",
          fmt::format("parameter {} does not require a gradient", i));
    }
    // Parallel updates require distinct parameters.
    if (!seen.insert(parameter.node().get()).second) {
      throw ValueError("duplicate_name", "Optimizer",
                       fmt::format("parameter {} is repeated", i));
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

float Optimizer::rate_of(float factor) const {
  if (!(factor >= 0.0f) || std::isinf(factor)) {
    throw ValueError("out_of_range", "Optimizer",
                     fmt::format("factor of the learning rate must be finite "
                                 "and at least 0, got {}",
                                 number_text(factor)));
  }
  expect_attached();
  return learning_rate() * factor;
}

void Optimizer::refuse_missing() const {
  throw ValueError(
      "no_gradient", "Optimizer",
      fmt::format("none of the {} attached parameters has a gradient. Hint: "
                  "call backward() before step(), and "
                  "attach(model.trainable_variables()) of the trained model; "
                  "a quantized or cloned model has separate parameters",
                  state_->parameters.size()));
}

void Optimizer::step(float factor, MissingGradients missing) {
  const float rate = rate_of(factor);
  State& state = *state_;

  // A Variable is bound to this thread, so tasks use its values only.
  std::vector<Update> updates;
  updates.reserve(state.parameters.size());
  for (size_t i = 0; i < state.parameters.size(); ++i) {
    const Variable& parameter = state.parameters[i];
    const Tensor& gradient = parameter.grad();
    if (gradient.empty()) continue;
    updates.push_back({parameter.mutable_value(), gradient.f32(),
                       state.slots[i], parameter.shape().rank()});
  }
  if (updates.empty() && missing == MissingGradients::refuse) refuse_missing();

  const int64_t step = ++state.steps;
  parallel_for(static_cast<int64_t>(updates.size()), [&](int64_t i) {
    const Update& u = updates[static_cast<size_t>(i)];
    apply(*rule_, u, u.slots, {0, std::ssize(u.value)}, rate, step);
  });
  zero_grad();
}

void Optimizer::update(size_t parameter, const Tensor& gradient, float rate) {
  constexpr int64_t kPart = 1 << 16;
  State& state = *state_;
  const Variable& of = state.parameters[parameter];
  const int64_t size = of.shape().size();
  const int64_t parts = rule_->elementwise() ? (size + kPart - 1) / kPart : 1;
  const Update all{of.mutable_value(), gradient.f32(), state.slots[parameter],
                   of.shape().rank()};
  parallel_for(parts, [&](int64_t i) {
    const int64_t first = size * i / parts;
    const Part part{first, size * (i + 1) / parts - first};
    std::vector<Tensor> slots;
    for (const Tensor& slot : all.slots) {
      slots.push_back(slot.reshaped({size}).slice(part.first, part.count));
    }
    apply(*rule_, all, parts == 1 ? all.slots : std::span(slots), part, rate,
          state.steps);
  });
}

void Optimizer::zero_grad() const {
  for (const Variable& parameter : state_->parameters) parameter.zero_grad();
}

void Optimizer::expect_attached() const {
  if (!state_->parameters.empty()) return;
  throw ValueError("invalid_state", "Optimizer",
                   "no parameters are attached. Hint: call "
                   "attach(model.trainable_variables()) before step()");
}

void Optimizer::minimize(const Variable& loss, float factor,
                         MissingGradients missing) {
  const float rate = rate_of(factor);
  zero_grad();
  std::unordered_map<uint64_t, size_t> places;  // of parameters, by id
  for (size_t i = 0; i < state_->parameters.size(); ++i) {
    places.emplace(state_->parameters[i].id(), i);
  }
  bool updated = false;
  loss.backward([&](const Variable& leaf, const Tensor& gradient) {
    const auto place = places.find(leaf.id());
    if (place == places.end()) {
      Tensor sum = gradient.clone();
      if (const Tensor& before = leaf.grad(); !before.empty()) {
        add_floats(sum.f32(), before.f32());
      }
      leaf.set_grad(std::move(sum));
      return;
    }
    if (!std::exchange(updated, true)) ++state_->steps;
    update(place->second, gradient, rate);
  });
  if (updated) return;
  if (missing == MissingGradients::refuse) refuse_missing();
  ++state_->steps;
}

float Optimizer::learning_rate() const {
  return state_->learning_rate.value_or(rule_->learning_rate());
}

void Optimizer::set_learning_rate(float rate) {
  check_learning_rate("Optimizer", rate);
  state_->learning_rate = rate;
}

int64_t Optimizer::steps() const { return state_->steps; }

OptimizerState Optimizer::state() const { return *state_; }

void Optimizer::restore(const OptimizerState& state) {
  const auto& slots = state_->slots;
  if (state.steps < 0 || state.slots.size() != slots.size()) {
    throw ValueError(
        "count_mismatch", "Optimizer",
        fmt::format("state must have {} parameters, got {} after {} steps",
                    slots.size(), state.slots.size(), state.steps));
  }
  if (state.learning_rate) {
    check_learning_rate("Optimizer", *state.learning_rate);
  }
  for (size_t i = 0; i < slots.size(); ++i) {
    if (state.slots[i].size() != slots[i].size()) {
      throw ValueError(
          "count_mismatch", "Optimizer",
          fmt::format("state must have {} tensors for parameter {}, got {}",
                      slots[i].size(), i, state.slots[i].size()));
    }
    for (size_t slot = 0; slot < slots[i].size(); ++slot) {
      const Tensor& given = state.slots[i][slot];
      const Shape& shape = slots[i][slot].shape();
      if (given.empty() || given.dtype() != DType::f32 ||
          given.shape() != shape) {
        throw ShapeError(
            "shape_mismatch", "Optimizer",
            fmt::format("state of parameter {} must be f32 {}, got {}", i,
                        shape.to_string(),
                        given.empty()
                            ? "none"
                            : fmt::format("{} {}", to_string(given.dtype()),
                                          given.shape().to_string())));
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
