// Builders of layers other than models, functions and attention.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/ops.h>
#include <octet/runtime/error.h>

#include "arranged.h"
#include "keras/builder.h"
#include "keras/masks.h"
#include "keras/operation.h"
#include "keras/recurrent.h"
#include "keras/training_only.h"

namespace octet::io {
namespace {

bool is_noop(const Config& value) {
  if (value.is_list()) return value.as_list().empty();
  if (value.is_object()) return value.as_object().empty();
  return value.is_null() || value == Config(false);
}

bool is_frozen(const KerasLayer& layer) {
  const Config& trainable = option(layer.config, "trainable");
  return trainable == Config(false) || trainable == Config(0);
}

std::shared_ptr<Layer> make_layer(const LayerSpec& step, const Config& config) {
  if (step.factory == nullptr) return create_layer(step.class_name, config);
  std::shared_ptr<Layer> layer = (*step.factory)(config);
  if (layer == nullptr) {
    throw ValueError("invalid_value", "KerasOptions.layers",
                     "factory returned no layer");
  }
  return layer;
}

/// Sets the layout of a kernel in the file if it differs from Keras 3.
/// Source: preprocess_weights_for_loading in keras/engine/saving.py of
/// Keras 2.2.
void as_old_kernel(WeightTarget& weight, const KerasLayer& layer,
                   const KerasDialect& dialect) {
  const Shape octet = weight.variable.shape();
  if (octet.rank() != 4 || weight.name.find("kernel") == std::string::npos) {
    return;
  }
  const bool transpose = layer.class_name == "Conv2DTranspose";
  // Keras flips the kernels of these two classes.
  weight.flipped = dialect.backend == "theano" &&
                   (transpose || layer.class_name == "Conv2D");
  if (dialect.major != 1) return;
  // Keras 1: [o,c,kh,kw] with channels first; for Deconvolution2D,
  // [kh,kw,c,o] or [o,c,kh,kw].
  std::array<int, 4> order{0, 1, 2, 3};
  if (has_channels_first(layer)) {
    order = transpose ? std::array{2, 3, 0, 1} : std::array{2, 3, 1, 0};
  } else if (transpose) {
    order = {0, 1, 3, 2};
  }
  std::array<Dim, 4> stored;
  for (int axis = 0; axis < 4; ++axis) {
    stored.at(static_cast<size_t>(order.at(static_cast<size_t>(axis)))) = {
        octet[axis]};
  }
  weight.layout = AxisLayout(stored).transposed(order);
}

/// A layer that is a sequence of layers, usually one, in Octet.
class SequenceBuilder : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    std::vector<BuiltArgument> used = arguments;
    bool frozen = state().statistics_frozen;
    std::erase_if(used, [&](const BuiltArgument& argument) {
      if (argument.name != "training" || argument.value) return false;
      frozen = frozen || argument.constant == Config(false);
      return ignores_training(layer().class_name);
    });
    // A mask affects statistics in training only.
    std::erase_if(used, [&](const BuiltArgument& argument) {
      return argument.name == "mask" &&
             layer().class_name == "BatchNormalization";
    });
    const auto mask = take_mask(used, layer().class_name);
    std::vector<KerasValue> values = only_tensors(used);
    if (mask) values.push_back(shared_mask(*mask, values[0]));
    if (!steps_) steps_ = steps_for(keras_shape(values[0]));
    if (steps_->empty() && values.size() != 1) {
      throw UnsupportedError(
          "count_mismatch", "inbound_nodes",
          fmt::format("must have one tensor, got {}", values.size()));
    }
    for (const LayerSpec& step : *steps_) {
      values = {run(step, std::move(values))};
    }
    if (frozen) freeze_statistics();
    return values;
  }

 private:
  /// Removes and returns the mask of a layer that takes it as an input.
  static std::optional<KerasValue> take_mask(std::vector<BuiltArgument>& used,
                                             std::string_view class_name) {
    if (class_name != "GlobalAveragePooling1D") return std::nullopt;
    const auto given = std::ranges::find_if(used, [](const auto& argument) {
      return argument.name == "mask" && argument.value;
    });
    if (given == used.end()) return std::nullopt;
    KerasValue mask = *given->value;
    used.erase(given);
    return mask;
  }

  std::vector<LayerSpec> steps_for(const Shape& input) const {
    return find_factory(state().options, layer()) == nullptr &&
                   is_composite(layer().class_name)
               ? composite_sequence(layer(), state(), input)
               : layer_sequence(layer(), state());
  }

  std::optional<std::vector<LayerSpec>> steps_;
};

/// A layer around another one: SpectralNormalization, which scales the stored
/// kernel in training only.
class WrapperBuilder : public LayerBuilder {
 public:
  using LayerBuilder::LayerBuilder;

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t index) override {
    return inner(name()).call(arguments, index);
  }
  TargetLayer targets() const override {
    TargetLayer target = LayerBuilder::targets();
    TargetLayer part{.name = target.name,
                     .class_name = target.class_name,
                     .weights = std::move(target.weights),
                     .parts = std::move(target.parts)};
    if (inner_ != nullptr) part = inner_->targets();
    part.attribute = "layer";
    target.weights.clear();
    target.parts = {std::move(part)};
    return target;
  }

 protected:
  LayerBuilder& inner(const std::string& name) {
    if (inner_ == nullptr) {
      inner_ = layer_builder(*layer().inner, name, state());
    }
    return *inner_;
  }

 private:
  std::unique_ptr<LayerBuilder> inner_;
};

/// TimeDistributed, a layer for each step of [n,t,...]: the layer itself if it
/// treats leading axes alike, a layer over images, or a shared layer that is
/// called for each step.
class TimeDistributedBuilder final : public WrapperBuilder {
 public:
  using WrapperBuilder::WrapperBuilder;

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t index) override {
    std::vector<BuiltArgument> used = arguments;
    const bool masked = std::erase_if(used, [](const BuiltArgument& each) {
                          return each.name == "mask" && each.value;
                        }) > 0;
    KerasValue x = materialize(only_tensors(used)[0], {});
    if (masked && takes_mask(layer().inner->class_name)) {
      throw UnsupportedError("unsupported_layer", text_of(*layer().inner),
                             "a mask in TimeDistributed is not supported");
    }
    const Shape& shape = x.tensor.shape();
    if (!steps_) {
      steps_ = sequence_over_steps(*layer().inner, state(), shape);
    }
    for (const LayerSpec& step : *steps_) x = run(step, {std::move(x)});
    if (!steps_->empty()) {
      if (state().statistics_frozen) freeze_statistics();
      return {std::move(x)};
    }
    count_calls(shape);
    std::vector<SymbolicTensor> results;
    for (int64_t step = 0; step < shape[1]; ++step) {
      const KerasValue one = value_in({}, x.tensor.index({Slice(), step}));
      const auto call = static_cast<size_t>(step) + index * 1000;
      const auto values =
          inner(name() + "/" + layer().inner->name).call({{"", one, {}}}, call);
      results.push_back(materialize(values.at(0), {}).tensor);
    }
    const SymbolicTensor y = stack(results, 1);
    // Valid while no model contains the layer.
    std::const_pointer_cast<Layer>(y.node->layer)
        ->set_name(index == 0 ? name() : fmt::format("{}_{}", name(), index));
    return {value_in({}, y)};
  }

 private:
  /// Whether a layer depends on the masks of steps.
  static bool takes_mask(const std::string& class_name) {
    return is_recurrent(class_name) || class_name == "Bidirectional" ||
           class_name == "GlobalAveragePooling1D" ||
           class_name == "MultiHeadAttention" || class_name == "Softmax";
  }

  /// Limits calls: each adds a slice of the input to the graph.
  void count_calls(const Shape& shape) const {
    constexpr int64_t kMostSteps = 64;
    constexpr int64_t kMostStepCalls = 4096;  // in a model, also nested
    if (shape.rank() < 3 || shape[1] > kMostSteps) {
      throw UnsupportedError(
          "unsupported_layer", text_of(*layer().inner),
          fmt::format("must have up to {} steps, got inputs {}", kMostSteps,
                      shape.to_string()));
    }
    state().step_calls += shape[1];
    if (state().step_calls > kMostStepCalls) {
      throw FormatError("size_limit", "TimeDistributed",
                        fmt::format("layers must be called for at most {} "
                                    "steps in total",
                                    kMostStepCalls));
    }
  }

  std::optional<std::vector<LayerSpec>> steps_;
};

template <class Builder>
std::unique_ptr<LayerBuilder> create(const KerasLayer& layer,
                                     const std::string& name,
                                     BuildState& state) {
  return std::make_unique<Builder>(layer, name, state);
}

}  // namespace

LayerBuilder::LayerBuilder(const KerasLayer& layer, std::string name,
                           BuildState& state)
    : layer_(layer), name_(std::move(name)), state_(state) {}

KerasValue LayerBuilder::run(const LayerSpec& step,
                             std::vector<KerasValue> inputs) {
  auto part = std::ranges::find(
      parts_, step.suffix,
      [](const Part& each) -> const std::string& { return each.step.suffix; });
  const bool is_new = part == parts_.end();
  const AxisOrder order = is_new ? order_for(step, inputs) : part->order;
  std::vector<SymbolicTensor> tensors;
  for (KerasValue& x : inputs) {
    x = materialize(x, order);
    tensors.push_back(x.tensor);
  }
  if (is_new) {
    const int rank = tensors[0].shape().rank();
    const auto made = make_layer(step, config_in(order, step, rank));
    made->set_name(name_ + step.suffix);
    if (is_frozen(layer_)) made->set_trainable(false);
    part = parts_.insert(parts_.end(), {step, made, order});
  }
  const bool unmasked = loses_mask(step, inputs);
  KerasValue y = value_after(order, inputs[0], step,
                             unmasked ? octet::call(part->layer, tensors)
                                      : call_masked(part->layer, tensors));
  y.unmasked = unmasked;
  y.unused_mask = std::ranges::any_of(inputs, &KerasValue::unused_mask);
  y.other_masked_steps =
      std::ranges::any_of(inputs, &KerasValue::other_masked_steps) &&
      !has_mask_input(step, y.tensor.node->inputs.size());
  return y;
}

std::shared_ptr<Layer> LayerBuilder::find(std::string_view suffix) const {
  for (const Part& part : parts_) {
    if (part.step.suffix == suffix) return part.layer;
  }
  return nullptr;
}

void LayerBuilder::freeze_statistics() const {
  for (const Part& part : parts_) part.layer->freeze_statistics(true);
}

TargetLayer LayerBuilder::targets() const {
  TargetLayer result{.name = layer_.name, .class_name = layer_.written_class};
  for (const Part& part : parts_) {
    std::vector<WeightTarget> weights = weights_of(part);
    if (weights.empty()) continue;
    if (part.step.own_name.empty()) {
      result.weights = std::move(weights);
    } else {
      result.parts.push_back({.name = part.step.own_name,
                              .class_name = part.step.class_name,
                              .attribute = "activation",
                              .weights = std::move(weights)});
    }
  }
  return result;
}

std::vector<WeightTarget> LayerBuilder::weights_of(const Part& part) const {
  const LayerSpec& step = part.step;
  std::vector<WeightTarget> weights = io::weights_of(*part.layer);
  for (size_t i = 0; i < weights.size(); ++i) {
    WeightTarget& weight = weights[i];
    const Shape shape = weight.variable.shape();
    if (!step.weights.empty()) {
      weight.layout = step.weights[i];
    } else if (step.over_images && shape.rank() == 4) {
      const std::vector<Dim> dims = dims_of(shape);
      weight.layout =
          AxisLayout(std::span(dims).subspan(1)).reshaped(dims).value();
    } else {
      weight.layout = weight_layout(part.order, step, weight.name, shape);
      as_old_kernel(weight, layer_, state_.dialect);
    }
  }
  return weights;
}

std::unique_ptr<LayerBuilder> layer_builder(const KerasLayer& layer,
                                            const std::string& name,
                                            BuildState& state) {
  if (layer.graph != nullptr) return nested_builder(layer, name, state);
  if (find_factory(state.options, layer) == nullptr) {
    if (is_built_as_operation(layer)) {
      return operation_builder(layer, name, state);
    }
    if (const auto builder = find_builder(layer.class_name)) {
      return builder(layer, name, state);
    }
  }
  return create<SequenceBuilder>(layer, name, state);
}

CreateBuilder find_builder(std::string_view class_name) {
  static constexpr std::pair<std::string_view, CreateBuilder> kBuilders[] = {
      {"Attention", attention_builder},
      {"Bidirectional", bidirectional_builder},
      {"GRU", recurrent_builder},
      {"LSTM", recurrent_builder},
      {"MultiHeadAttention", attention_builder},
      {"SimpleRNN", recurrent_builder},
      {"SpectralNormalization", create<WrapperBuilder>},
      {"TimeDistributed", create<TimeDistributedBuilder>},
  };
  for (const auto& [name, builder] : kBuilders) {
    if (name == class_name) return builder;
  }
  return nullptr;
}

std::vector<KerasValue> only_tensors(
    const std::vector<BuiltArgument>& arguments) {
  std::vector<KerasValue> values;
  for (const BuiltArgument& argument : arguments) {
    const bool positional = argument.name.empty() || argument.name == "inputs";
    if (argument.value && positional) {
      values.push_back(*argument.value);
    } else if (argument.value ||
               (!is_noop(argument.constant) && argument.name != "training")) {
      throw UnsupportedError(
          "unsupported_attribute", "inbound_nodes",
          fmt::format("calls must be on tensors only, got {}",
                      argument.name.empty()
                          ? std::string("a constant")
                          : fmt::format("the argument '{}'", argument.name)));
    } else if (argument.constant == Config(true)) {
      throw UnsupportedError("unsupported_attribute", "inbound_nodes",
                             "training=True is not supported: a call must "
                             "follow the model's mode");
    }
  }
  if (values.empty()) {
    throw FormatError("count_mismatch", "inbound_nodes",
                      "must have a tensor, got none");
  }
  return values;
}

}  // namespace octet::io
