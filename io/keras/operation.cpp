#include "keras/operation.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/operation_forms.h"

namespace octet::io {
namespace {

// Sources: tensorflow/python/keras/layers/core.py (TFOpLambda names a function
// by its module in tf); class names in keras/src/ops/numpy.py and nn.py.
struct Named {
  std::string_view name;   // of Keras or TensorFlow
  std::string_view layer;  // equivalent in Octet
};

// Layers of two tensors, or of a tensor and numbers.
constexpr Named kJoins[] = {
    {"Add", "Add"},
    {"Divide", "Divide"},
    {"Maximum", "Maximum"},
    {"Minimum", "Minimum"},
    {"Multiply", "Multiply"},
    {"Power", "Power"},
    {"Subtract", "Subtract"},
    {"TrueDivide", "Divide"},
    {"__operators__.add", "Add"},
    {"math.add", "Add"},
    {"math.divide", "Divide"},
    {"math.maximum", "Maximum"},
    {"math.minimum", "Minimum"},
    {"math.multiply", "Multiply"},
    {"math.pow", "Power"},
    {"math.subtract", "Subtract"},
    {"math.truediv", "Divide"},
};

constexpr Named kActivations[] = {
    {"Exp", "exponential"},
    {"HardSigmoid", "hard_sigmoid"},
    {"HardSilu", "hard_silu"},
    {"LogSigmoid", "log_sigmoid"},
    {"Relu", "relu"},
    {"Relu6", "relu6"},
    {"Selu", "selu"},
    {"Sigmoid", "sigmoid"},
    {"Silu", "silu"},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"Tanh", "tanh"},
    {"identity", "linear"},
    {"math.exp", "exponential"},
    {"math.log_sigmoid", "log_sigmoid"},
    {"math.sigmoid", "sigmoid"},
    {"math.softplus", "softplus"},
    {"math.tanh", "tanh"},
    {"nn.relu", "relu"},
    {"nn.relu6", "relu6"},
    {"nn.selu", "selu"},
    {"nn.silu", "silu"},
    {"nn.softsign", "softsign"},
    {"nn.swish", "silu"},
};

// Operations of the layer Unary.
constexpr Named kUnary[] = {
    {"Absolute", "abs"},
    {"Ceil", "ceil"},
    {"Cos", "cos"},
    {"Erf", "erf"},
    {"Floor", "floor"},
    {"Log", "log"},
    {"Reciprocal", "reciprocal"},
    {"Sign", "sign"},
    {"Sin", "sin"},
    {"Sqrt", "sqrt"},
    {"Square", "square"},
    {"math.abs", "abs"},
    {"math.ceil", "ceil"},
    {"math.cos", "cos"},
    {"math.erf", "erf"},
    {"math.floor", "floor"},
    {"math.log", "log"},
    {"math.reciprocal", "reciprocal"},
    {"math.sign", "sign"},
    {"math.sin", "sin"},
    {"math.sqrt", "sqrt"},
    {"math.square", "square"},
};

std::string_view find_named(std::span<const Named> all, std::string_view name) {
  for (const Named& named : all) {
    if (named.name == name) return named.layer;
  }
  return "";
}

std::string function_of(const KerasLayer& layer) {
  if (layer.written_class != "TFOpLambda" &&
      layer.written_class != "SlicingOpLambda") {
    return layer.written_class;
  }
  const Config* function = layer.config.find("function");
  if (function == nullptr || !function->is_string()) return "";
  const std::string& name = function->as_string();
  // Namespace of tf.transpose, tf.pad and tf.squeeze.
  constexpr std::string_view kOld = "compat.v1.";
  return name.starts_with(kOld) ? name.substr(kOld.size()) : name;
}

/// Returns the settings in the configuration and in a call.
template <class Arguments>
Settings settings_of(const KerasLayer& layer, const Arguments& arguments,
                     bool (*is_tensor)(const typename Arguments::value_type&)) {
  Settings settings(layer.config);
  for (const auto& argument : arguments) {
    if (!is_tensor(argument)) settings.add(argument.name, argument.constant);
  }
  return settings;
}

/// Whether a function has operands only, no settings.
bool is_simple(std::string_view function) {
  return !find_named(kJoins, function).empty() ||
         !find_named(kActivations, function).empty() ||
         !find_named(kUnary, function).empty();
}

// Arguments that are always operands.
bool is_operand(const std::string& name) {
  constexpr std::string_view kNames[] = {"",   "x", "y", "x1",
                                         "x2", "a", "b", "features"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

bool is_operation_class(std::string_view name) {
  return name == "Add" || name == "Subtract" || name == "Multiply" ||
         name == "Divide";
}

bool is_number(const Config& c) {
  return c.is_number() ||
         (c.is_list() && !c.as_list().empty() &&
          std::ranges::all_of(c.as_list(), &Config::is_number));
}

Config mapped(const Config& numbers, double (*f)(double)) {
  if (!numbers.is_list()) return f(numbers.as_number());
  Config::List list;
  for (const Config& n : numbers.as_list()) list.emplace_back(f(n.as_number()));
  return list;
}

// Lists apply to the last axis in Keras' order.
Steps affine(Config scale, Config offset) {
  LayerSpec step{
      "", "Rescaling",
      Config().set("scale", std::move(scale)).set("offset", std::move(offset))};
  step.in_keras_order =
      step.config.at("scale").is_list() || step.config.at("offset").is_list();
  return {std::move(step)};
}

/// x op k, or k op x; empty if no layer is equivalent.
Steps with_constant(std::string_view join, const Config& k, bool tensor_first) {
  if (join == "Add") return affine(1.0, k);
  if (join == "Multiply") return affine(k, 0.0);
  if (join == "Subtract") {
    if (!tensor_first) return affine(-1.0, k);
    return affine(1.0, mapped(k, [](double v) { return -v; }));
  }
  if (join == "Divide" && tensor_first) {
    return affine(mapped(k, [](double v) { return 1 / v; }), 0.0);
  }
  if (join == "Divide") {
    Steps steps = affine(k, 0.0);
    steps.insert(steps.begin(), {"/reciprocal", "Unary",
                                 Config().set("operation", "reciprocal")});
    return steps;
  }
  if (k.is_list()) return {};
  if (join == "Power" && tensor_first) {
    return {{"", "Power", Config().set("exponent", k)}};
  }
  const bool lowest = join == "Maximum";
  if (lowest || join == "Minimum") {
    return {{"", "ClipByValue", Config().set(lowest ? "min" : "max", k)}};
  }
  return {};
}

class OperationBuilder final : public LayerBuilder {
 public:
  OperationBuilder(const KerasLayer& layer, std::string name, BuildState& state)
      : layer_(layer),
        name_(std::move(name)),
        state_(state),
        function_(function_of(layer)) {}

  // Constants differ between calls, so each call has its own layers. A nested
  // model counts its calls from 0 in each of its own calls.
  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    const std::string name =
        calls_ == 0 ? name_ : fmt::format("{}_{}", name_, calls_);
    ++calls_;
    if (is_simple(function_)) {
      const std::vector<BuiltArgument> operands = operands_of(arguments);
      return chain_builder(layer_, name, layer_sequence(operands), state_)
          ->call(tensors_of(operands), 0);
    }
    const std::vector<BuiltArgument> tensors = tensors_of(arguments);
    if (tensors.empty()) {
      throw FormatError("count_mismatch", "inbound_nodes",
                        "must have a tensor, got none");
    }
    Operands x{.shapes = {},
               .channels_first = tensors[0].value->order.channels_first,
               .formats = state_.formats};
    for (const BuiltArgument& tensor : tensors) {
      x.shapes.push_back(keras_shape(*tensor.value));
    }
    const Settings settings = settings_of(
        layer_, arguments,
        +[](const BuiltArgument& a) { return a.value.has_value(); });
    const Form form = find_form(function_);
    const std::vector<Steps> outputs =
        form != nullptr ? std::vector<Steps>{form(settings, x)}
                        : parts_of(function_, settings, x[0]);
    if (const auto unread = settings.unread()) {
      throw UnsupportedError(
          "unsupported_attribute", function_,
          unread->empty()
              ? std::string("constants among the tensors are not supported")
              : fmt::format("argument '{}' is not supported", *unread));
    }
    std::vector<KerasValue> values;
    for (const Steps& steps : outputs) {
      values.push_back(
          chain_builder(layer_, name, steps, state_)->call(tensors, 0)[0]);
    }
    return values;
  }

  TargetLayer targets() const override {
    return {.name = layer_.name, .class_name = layer_.written_class};
  }

 private:
  std::vector<BuiltArgument> operands_of(
      const std::vector<BuiltArgument>& arguments) const {
    std::vector<BuiltArgument> operands;
    for (const BuiltArgument& argument : arguments) {
      const bool present = argument.value || !argument.constant.is_null();
      if (!present || argument.name == "name") continue;
      if (!is_operand(argument.name)) {
        throw UnsupportedError(
            "unsupported_attribute", function_,
            fmt::format("argument '{}' is not supported", argument.name));
      }
      operands.push_back(argument);
    }
    return operands;
  }

  static std::vector<BuiltArgument> tensors_of(
      const std::vector<BuiltArgument>& arguments) {
    std::vector<BuiltArgument> tensors;
    for (const BuiltArgument& argument : arguments) {
      if (argument.value) tensors.push_back({"", argument.value, {}});
    }
    return tensors;
  }

  Steps layer_sequence(const std::vector<BuiltArgument>& operands) const {
    const auto tensors = std::ranges::count_if(
        operands, [](const BuiltArgument& a) { return a.value.has_value(); });
    const std::string_view join = find_named(kJoins, function_);
    if (join.empty() && operands.size() == 1 && tensors == 1) {
      const std::string_view activation = find_named(kActivations, function_);
      if (!activation.empty()) {
        return {{"", "Activation", Config().set("activation", activation)}};
      }
      return {{"", "Unary",
               Config().set("operation", find_named(kUnary, function_))}};
    }
    if (!join.empty() && join != "Power" && operands.size() == 2 &&
        tensors == 2) {
      const int ranks[] = {operands[0].value->tensor.shape().rank(),
                           operands[1].value->tensor.shape().rank()};
      if (ranks[0] == ranks[1]) {
        return {{"", std::string(join), Config::Object()}};
      }
    }
    if (!join.empty() && operands.size() == 2 && tensors == 1) {
      const bool tensor_first = operands[0].value.has_value();
      const Config& k = operands[tensor_first ? 1 : 0].constant;
      Steps steps =
          is_number(k) ? with_constant(join, k, tensor_first) : Steps();
      if (!steps.empty()) return steps;
    }
    throw UnsupportedError("unsupported_operator", function_,
                           "operands must be tensors of the same rank, or a "
                           "tensor and numbers, for which Octet has a layer");
  }

  const KerasLayer& layer_;
  std::string name_;
  BuildState& state_;
  std::string function_;
  int64_t calls_ = 0;
};

}  // namespace

bool is_known_operation(const KerasLayer& layer) {
  const std::string function = function_of(layer);
  return is_simple(function) || find_form(function) != nullptr ||
         has_parts(function);
}

int64_t outputs_of(const KerasLayer& layer) {
  const std::string function = function_of(layer);
  // Rejected later, by name.
  if (layer.operation && !is_known_operation(layer)) return INT64_MAX;
  if (!layer.operation || !has_parts(function) || layer.calls.empty()) return 1;
  // All calls have the same number: a function with other settings is another
  // layer.
  return outputs_of(function,
                    settings_of(
                        layer, layer.calls[0], +[](const KerasArgument& a) {
                          return a.tensor.has_value();
                        }));
}

bool is_called_as_operation(const KerasLayer& layer) {
  if (!is_operation_class(layer.written_class)) return false;
  for (const KerasCall& call : layer.calls) {
    for (const KerasArgument& argument : call) {
      if (!argument.tensor && is_number(argument.constant)) return true;
    }
  }
  return false;
}

std::unique_ptr<LayerBuilder> operation_builder(const KerasLayer& layer,
                                                std::string name,
                                                BuildState& state) {
  return std::make_unique<OperationBuilder>(layer, std::move(name), state);
}

}  // namespace octet::io
