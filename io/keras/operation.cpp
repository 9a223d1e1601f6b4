#include "keras/operation.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/operation_forms.h"

namespace octet::io {
namespace {

// Sources: tensorflow/python/keras/layers/core.py (TFOpLambda names a function
// by its module in tf); class names in keras/src/ops/numpy.py and nn.py.
struct Operation {
  std::string_view name;        // in either
  std::string_view class_name;  // of the layer for two tensors
  std::string_view function;    // or the activation for one
  // Or what makes a step of one tensor, or a list of them, and settings.
  Step (*form)(const Settings& settings, const Shape& x) = nullptr;
};
constexpr Operation kOperations[] = {
    {"Absolute", "", "", absolute_step},
    {"Add", "Add", ""},
    {"Clip", "", "", clip_step},
    {"Concatenate", "", "", concatenate_step},
    {"Divide", "Divide", ""},
    {"Erf", "", "", erf_step},
    {"GetItem", "", "", get_item_step},
    {"Log", "", "", log_step},
    {"Matmul", "Matmul", ""},
    {"Max", "", "", max_step},
    {"Maximum", "Maximum", ""},
    {"Mean", "", "", mean_step},
    {"Minimum", "Minimum", ""},
    {"Multiply", "Multiply", ""},
    {"Negative", "", "", negative_step},
    {"Pad", "", "", pad_step},
    {"Relu", "", "relu"},
    {"Relu6", "", "relu6"},
    {"Reshape", "", "", reshape_step},
    {"Sigmoid", "", "sigmoid"},
    {"Silu", "", "silu"},
    {"Sqrt", "", "", sqrt_step},
    {"Square", "", "", square_step},
    {"Subtract", "Subtract", ""},
    {"Tanh", "", "tanh"},
    {"TrueDivide", "Divide", ""},
    {"__operators__.add", "Add", ""},
    {"__operators__.getitem", "", "", get_item_step},
    {"concat", "", "", concatenate_step},
    {"linalg.matmul", "Matmul", ""},
    {"math.abs", "", "", absolute_step},
    {"math.add", "Add", ""},
    {"math.divide", "Divide", ""},
    {"math.erf", "", "", erf_step},
    {"math.log", "", "", log_step},
    {"math.maximum", "Maximum", ""},
    {"math.minimum", "Minimum", ""},
    {"math.multiply", "Multiply", ""},
    {"math.negative", "", "", negative_step},
    {"math.reduce_max", "", "", max_step},
    {"math.reduce_mean", "", "", mean_step},
    {"math.sigmoid", "", "sigmoid"},
    {"math.sqrt", "", "", sqrt_step},
    {"math.square", "", "", square_step},
    {"math.subtract", "Subtract", ""},
    {"math.tanh", "", "tanh"},
    {"math.truediv", "Divide", ""},
    {"nn.relu", "", "relu"},
    {"nn.relu6", "", "relu6"},
    {"nn.silu", "", "silu"},
    {"nn.swish", "", "silu"},
    {"reshape", "", "", reshape_step},
};

std::string function_of(const KerasLayer& layer) {
  if (layer.written_class != "TFOpLambda" &&
      layer.written_class != "SlicingOpLambda") {
    return layer.written_class;
  }
  const Config* function = layer.config.find("function");
  return function != nullptr && function->is_string() ? function->as_string()
                                                      : "";
}

const Operation* find_operation(const KerasLayer& layer) {
  const std::string name = function_of(layer);
  for (const Operation& operation : kOperations) {
    if (operation.name == name) return &operation;
  }
  return nullptr;
}

// Arguments that are operands whatever they are called.
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

class OperationBuilder final : public LayerBuilder {
 public:
  OperationBuilder(const KerasLayer& layer, std::string name, BuildState& state)
      : layer_(layer),
        name_(std::move(name)),
        state_(state),
        operation_(*find_operation(layer)) {}

  // Constants differ from call to call, so each is a layer of its own.
  std::vector<Value> call(const std::vector<BuiltArgument>& arguments,
                          size_t index) override {
    const std::string name =
        index == 0 ? name_ : fmt::format("{}_{}", name_, index);
    if (operation_.form != nullptr) return call_form(arguments, name);
    std::vector<BuiltArgument> operands;
    for (const BuiltArgument& argument : arguments) {
      const bool present = argument.value || !argument.constant.is_null();
      if (!present || argument.name == "name") continue;
      if (!is_operand(argument.name)) {
        throw UnsupportedError(
            fmt::format("inbound_nodes: expected no argument '{}' of {}",
                        argument.name, function_of(layer_)));
      }
      operands.push_back(argument);
    }
    std::vector<BuiltArgument> tensors;
    for (const BuiltArgument& operand : operands) {
      if (operand.value) tensors.push_back({"", operand.value, {}});
    }
    return chain_builder(layer_, name, {step(operands, tensors.size())}, state_)
        ->call(tensors, 0);
  }

  TargetLayer targets() const override {
    return {.name = layer_.name, .class_name = layer_.written_class};
  }

 private:
  std::vector<Value> call_form(const std::vector<BuiltArgument>& arguments,
                               const std::string& name) {
    std::vector<BuiltArgument> tensors;
    Settings settings(layer_.config);
    for (const BuiltArgument& argument : arguments) {
      if (argument.value) {
        tensors.push_back({"", argument.value, {}});
      } else {
        settings.add(argument.name, argument.constant);
      }
    }
    if (tensors.empty()) {
      throw FormatError("inbound_nodes: expected a tensor, got none");
    }
    const Step step = operation_.form(settings, keras_shape(*tensors[0].value));
    return chain_builder(layer_, name, {step}, state_)->call(tensors, 0);
  }

  Step step(const std::vector<BuiltArgument>& operands, size_t tensors) const {
    const bool unary = !operation_.function.empty();
    if (unary && operands.size() == 1 && tensors == 1) {
      return {"", "Activation",
              Config().set("activation", operation_.function)};
    }
    if (!unary && operands.size() == 2 && tensors == 2 &&
        !operation_.class_name.empty()) {
      const int ranks[] = {operands[0].value->tensor.shape().rank(),
                           operands[1].value->tensor.shape().rank()};
      if (ranks[0] == ranks[1]) {
        return {"", std::string(operation_.class_name), Config::Object()};
      }
    }
    if (!unary && operands.size() == 2 && tensors == 1) {
      const bool tensor_first = operands[0].value.has_value();
      const Config& k = operands[tensor_first ? 1 : 0].constant;
      if (is_number(k)) {
        if (const auto affine = with_constant(k, tensor_first)) {
          return {"", "Rescaling", *affine};
        }
      }
    }
    throw UnsupportedError(fmt::format(
        "inbound_nodes: expected {} of tensors of one rank, or of one and "
        "numbers, in a form that Octet's layers have",
        function_of(layer_)));
  }

  // x op k, or k op x, as scale and offset.
  std::optional<Config> with_constant(const Config& k,
                                      bool tensor_first) const {
    const auto affine = [](Config scale, Config offset) {
      return Config()
          .set("scale", std::move(scale))
          .set("offset", std::move(offset));
    };
    const std::string_view name = operation_.name;
    const bool divides = name.ends_with("ivide") || name.ends_with("truediv");
    if (operation_.class_name == "Add") return affine(1.0, k);
    if (operation_.class_name == "Multiply") return affine(k, 0.0);
    if (operation_.class_name == "Subtract") {
      if (!tensor_first) return affine(-1.0, k);
      return affine(1.0, mapped(k, [](double v) { return -v; }));
    }
    if (divides && tensor_first) {
      return affine(mapped(k, [](double v) { return 1 / v; }), 0.0);
    }
    return std::nullopt;
  }

  const KerasLayer& layer_;
  std::string name_;
  BuildState& state_;
  const Operation& operation_;
};

}  // namespace

bool is_known_operation(const KerasLayer& layer) {
  return find_operation(layer) != nullptr;
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
