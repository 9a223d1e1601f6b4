#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/onnx_builder.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

// Training asks for the grids of quantizers that are switched on, export for
// all of them.
class Hook final : public WeightHook {
 public:
  Hook(std::span<const QuantizeWrapper::Weight> weights, bool exporting)
      : weights_(weights), exporting_(exporting) {}

  std::optional<Grid> grid(const Parameter& parameter) const override {
    for (const auto& [name, quantizer, reason] : weights_) {
      if (name != parameter.name) continue;
      if (!exporting_) {
        quantizer->observe(parameter.variable);
        if (!quantizer->enabled() || !quantizer->calibrated()) {
          return std::nullopt;
        }
      }
      return quantizer->weight_grid(parameter.variable, parameter.channel_axis);
    }
    return std::nullopt;
  }

 private:
  std::span<const QuantizeWrapper::Weight> weights_;
  bool exporting_;
};

Config to_config(const Quantizer& quantizer) {
  const QuantizerConfig& c = quantizer.config();
  Config config;
  config.set("name", quantizer.name())
      .set("bits", c.bits)
      .set("narrow_range", c.narrow_range)
      .set("per_channel", c.per_channel)
      .set("rule", c.rule == ScaleRule::live ? "live" : "fixed");
  if (quantizer.scale()) config.set("scale", *quantizer.scale());
  return config;
}

}  // namespace

QuantizeWrapper::QuantizeWrapper(std::shared_ptr<Layer> inner,
                                 std::vector<Input> inputs,
                                 std::vector<Weight> weights)
    : inner_(std::move(inner)),
      inputs_(std::move(inputs)),
      weights_(std::move(weights)) {
  if (inner_ == nullptr) {
    throw ValueError("QuantizeWrapper: expected a layer, got none");
  }
  if (as_wrapper(*inner_) != nullptr) {
    throw ValueError(fmt::format(
        "QuantizeWrapper: expected a plain layer, got the wrapper '{}'",
        inner_->name()));
  }
  for (const Input& input : inputs_) {
    if (input.quantizer == nullptr || input.index < 0) {
      throw ValueError(fmt::format(
          "QuantizeWrapper: expected a quantizer for an input >= 0, got {} {}",
          input.quantizer == nullptr ? "none for input" : "input",
          input.index));
    }
  }
  for (const Input& input : inputs_) {
    const QuantizerConfig& config = input.quantizer->config();
    if (config.rule == ScaleRule::live || config.per_channel) {
      throw UnsupportedError(fmt::format(
          "QuantizeWrapper: expected a fixed per-tensor scale for input {}, "
          "got a live or per-channel one",
          input.index));
    }
  }
  for (const Weight& weight : weights_) {
    if (weight.quantizer == nullptr) {
      throw ValueError(fmt::format(
          "QuantizeWrapper: expected a quantizer for '{}', got none",
          weight.parameter));
    }
  }
}

std::string QuantizeWrapper::class_name() const {
  return inner_->class_name() + "QuantizeWrapper";
}

Config QuantizeWrapper::config() const {
  Config::List inputs;
  for (const Input& input : inputs_) {
    inputs.push_back(to_config(*input.quantizer).set("index", input.index));
  }
  Config::List weights;
  for (const Weight& weight : weights_) {
    weights.push_back(
        to_config(*weight.quantizer).set("parameter", weight.parameter));
  }
  return Config()
      .set("class_name", inner_->class_name())
      .set("config", inner_->config())
      .set("inputs", std::move(inputs))
      .set("weights", std::move(weights));
}

Shape QuantizeWrapper::output_shape(std::span<const Shape> inputs) const {
  for (const Input& input : inputs_) {
    if (static_cast<size_t>(input.index) >= inputs.size()) {
      throw ValueError(
          fmt::format("quantized input: expected an index in [0,{}), got {}",
                      inputs.size(), input.index));
    }
  }
  return inner_->output_shape(inputs);
}

void QuantizeWrapper::build(std::span<const Shape> inputs) {
  inner_->build_once(inputs);
  for (const Weight& weight : weights_) {
    (void)inner_->parameter(weight.parameter);
  }
}

void QuantizeWrapper::initialize_once(const Rng& rng) {
  // The stream of each parameter is named after its layer.
  if (inner_->name().empty()) inner_->set_name(name());
  inner_->initialize_once(rng);
}

void QuantizeWrapper::copy_parameters(const Layer& from) {
  inner_->copy_parameters(from);
}

void QuantizeWrapper::share_parameters(const Layer& from) {
  inner_->share_parameters(from);
}

Variable QuantizeWrapper::forward(const ForwardContext& context,
                                  std::span<const Variable> inputs) const {
  std::vector<Variable> quantized(inputs.begin(), inputs.end());
  for (const Input& input : inputs_) {
    Variable& x = quantized[static_cast<size_t>(input.index)];
    x = (*input.quantizer)(x);
  }
  const Hook hook(weights_, false);
  ForwardContext inner = context;
  inner.weights = &hook;
  return inner_->forward(inner, quantized);
}

OnnxValue QuantizeWrapper::emit(EmitContext& context,
                                std::span<const OnnxValue> inputs) const {
  std::vector<OnnxValue> quantized(inputs.begin(), inputs.end());
  for (const Input& input : inputs_) {
    OnnxValue& x = quantized[static_cast<size_t>(input.index)];
    x.name = context.builder().add_qdq(x.name, input.quantizer->name(),
                                       input.quantizer->grid({}, -1));
  }
  const Hook hook(weights_, true);
  EmitContext inner = context.with_weights(&hook);
  return inner_->emit(inner, quantized);
}

std::shared_ptr<Layer> QuantizeWrapper::clone(CloneContext& context) const {
  const auto copy_of = [&](const std::shared_ptr<Quantizer>& quantizer) {
    return context.shared(*quantizer, [&] { return quantizer->clone(); });
  };
  std::vector<Input> inputs = inputs_;
  for (Input& input : inputs) input.quantizer = copy_of(input.quantizer);
  std::vector<Weight> weights = weights_;
  for (Weight& weight : weights) weight.quantizer = copy_of(weight.quantizer);
  auto copy = std::make_shared<QuantizeWrapper>(
      inner_->clone(context), std::move(inputs), std::move(weights));
  copy->set_name(name());
  return copy;
}

int64_t QuantizeWrapper::multiply_adds(std::span<const Shape> inputs) const {
  return inner_->multiply_adds(inputs);
}

void QuantizeWrapper::set_trainable(bool trainable) {
  inner_->set_trainable(trainable);
}

bool QuantizeWrapper::trainable() const { return inner_->trainable(); }

void QuantizeWrapper::freeze_statistics(bool frozen) {
  inner_->freeze_statistics(frozen);
}

std::span<const Parameter> QuantizeWrapper::parameters() const {
  return inner_->parameters();
}

const QuantizeWrapper* as_wrapper(const Layer& layer) {
  return dynamic_cast<const QuantizeWrapper*>(&layer);
}

std::vector<std::shared_ptr<Quantizer>> quantizers(const Model& model) {
  std::vector<std::shared_ptr<Quantizer>> result;
  const auto add = [&](const std::shared_ptr<Quantizer>& quantizer) {
    if (std::ranges::find(result, quantizer) == result.end()) {
      result.push_back(quantizer);
    }
  };
  for (const auto& layer : model.layers()) {
    const QuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const auto& input : wrapper->inputs()) add(input.quantizer);
    for (const auto& weight : wrapper->weights()) add(weight.quantizer);
  }
  return result;
}

}  // namespace octet::quant
