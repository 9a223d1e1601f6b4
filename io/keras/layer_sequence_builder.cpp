// Keras layers that are one layer, or a sequence of layers, in Octet.
#include <utility>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/runtime/error.h>

#include "keras/augmentation.h"
#include "keras/builder.h"
#include "keras/kernels.h"

namespace octet::io {
namespace {

bool is_noop(const Config& value) {
  if (value.is_list()) return value.as_list().empty();
  if (value.is_object()) return value.as_object().empty();
  return value.is_null() || value == Config(false);
}

const Config* constant(const std::vector<BuiltArgument>& arguments,
                       std::string_view name) {
  for (const BuiltArgument& argument : arguments) {
    if (argument.name == name && !argument.value) return &argument.constant;
  }
  return nullptr;
}

bool is_frozen(const KerasLayer& layer) {
  const Config* trainable = layer.config.find("trainable");
  return trainable != nullptr &&
         (*trainable == Config(false) || *trainable == Config(0));
}

std::vector<BuiltArgument> without_training(
    std::vector<BuiltArgument> arguments) {
  std::erase_if(arguments, [](const BuiltArgument& argument) {
    return argument.name == "training" && !argument.value;
  });
  return arguments;
}

class ChainBuilder final : public LayerBuilder {
 public:
  ChainBuilder(const KerasLayer& origin, std::string name,
               std::vector<LayerSpec> steps, BuildState& state)
      : origin_(origin), name_(std::move(name)), state_(state) {
    for (LayerSpec& step : steps) links_.push_back({std::move(step), {}, {}});
  }

  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    std::vector<KerasValue> values = only_tensors(
        ignores_training(origin_.class_name) ? without_training(arguments)
                                             : arguments);
    if (values.empty()) {
      throw FormatError("count_mismatch", "inbound_nodes",
                        "must have a tensor, got none");
    }
    if (links_.empty() && values.size() != 1) {
      throw UnsupportedError(
          "count_mismatch", "inbound_nodes",
          fmt::format("must have one tensor, got {}", values.size()));
    }
    for (Link& link : links_) values = {run(link, std::move(values))};
    const Config* training = constant(arguments, "training");
    if (state_.statistics_frozen ||
        (training != nullptr && *training == Config(false))) {
      for (const Link& link : links_) link.layer->freeze_statistics(true);
    }
    return values;
  }

  TargetLayer targets() const override {
    TargetLayer result{.name = origin_.name,
                       .class_name = origin_.written_class};
    for (const Link& link : links_) {
      if (link.layer == nullptr) continue;
      std::vector<WeightTarget> weights = weights_of(link);
      if (weights.empty()) continue;
      if (link.step.own_name.empty()) {
        result.weights = std::move(weights);
      } else {
        result.parts.push_back({.name = link.step.own_name,
                                .class_name = link.step.class_name,
                                .attribute = "activation",
                                .weights = std::move(weights)});
      }
    }
    return result;
  }

 private:
  struct Link {
    LayerSpec step;
    std::shared_ptr<Layer> layer;
    AxisOrder order;  // of its inputs
  };

  KerasValue run(Link& link, std::vector<KerasValue> inputs) {
    const int rank = inputs[0].tensor.shape().rank();
    const bool first = link.layer == nullptr;
    if (first) link.order = order_for(link.step, inputs);
    for (KerasValue& x : inputs) x = materialize(x, link.order);
    if (first) {
      link.layer = make_layer(link.step, config_in(link.order, link.step, rank),
                              name_ + link.step.suffix, origin_);
    }
    const SymbolicTensor y = call_layer(link.layer, inputs);
    return {y, order_after(link.order, link.step, inputs[0].tensor.shape(),
                           y.shape())};
  }

  std::vector<WeightTarget> weights_of(const Link& link) const {
    std::vector<WeightTarget> weights = io::weights_of(*link.layer);
    for (WeightTarget& weight : weights) {
      WeightOrder order =
          weight_order(link.order, link.step, weight.name, weight.shape);
      weight.shape = order.keras;
      weight.to_octet = std::move(order.to_octet);
      as_old_kernel(weight, origin_, state_.dialect);
    }
    return weights;
  }

  const KerasLayer& origin_;
  std::string name_;
  BuildState& state_;
  std::vector<Link> links_;
};

}  // namespace

std::unique_ptr<LayerBuilder> chain_builder(const KerasLayer& layer,
                                            std::string name,
                                            std::vector<LayerSpec> steps,
                                            BuildState& state) {
  return std::make_unique<ChainBuilder>(layer, std::move(name),
                                        std::move(steps), state);
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
  return values;
}

std::shared_ptr<Layer> make_layer(const LayerSpec& step, const Config& config,
                                  const std::string& name,
                                  const KerasLayer& origin) {
  std::shared_ptr<Layer> layer;
  if (step.factory != nullptr) {
    layer = (*step.factory)(config);
    if (layer == nullptr) {
      throw ValueError("invalid_value", "KerasOptions.layers",
                       "factory returned no layer");
    }
  } else {
    layer = create_layer(step.class_name, config);
  }
  layer->set_name(name);
  if (is_frozen(origin)) layer->set_trainable(false);
  return layer;
}

SymbolicTensor call_layer(const std::shared_ptr<Layer>& layer,
                          const std::vector<KerasValue>& inputs) {
  std::vector<SymbolicTensor> tensors;
  for (const KerasValue& x : inputs) tensors.push_back(x.tensor);
  return call(layer, std::move(tensors));
}

}  // namespace octet::io
