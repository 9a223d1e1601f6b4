#include "keras/operation.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>
#include <octet/layers/ops.h>
#include <octet/runtime/error.h>

#include "added_layers.h"
#include "keras/function_call.h"
#include "keras/recurrent.h"
#include "unique_names.h"

namespace octet::io {
namespace {

template <SymbolicTensor (*kFunction)(const SymbolicTensor&)>
Outputs pointwise(FunctionCall& c) {
  return {kFunction(c.x())};
}

constexpr auto kElementwiseOrder = KerasFunction::Order::elementwise;

// Functions of one tensor without settings, by Keras 3's class names.
constexpr KerasFunction kPointwiseFunctions[] = {
    {"Absolute", pointwise<octet::abs>, kElementwiseOrder},
    {"Ceil", pointwise<octet::ceil>, kElementwiseOrder},
    {"Cos", pointwise<octet::cos>, kElementwiseOrder},
    {"Erf", pointwise<octet::erf>, kElementwiseOrder},
    {"Exp", pointwise<octet::exp>, kElementwiseOrder},
    {"Floor", pointwise<octet::floor>, kElementwiseOrder},
    {"HardSigmoid", pointwise<hard_sigmoid>, kElementwiseOrder},
    {"HardSilu", pointwise<hard_silu>, kElementwiseOrder},
    {"Log", pointwise<octet::log>, kElementwiseOrder},
    {"LogSigmoid", pointwise<log_sigmoid>, kElementwiseOrder},
    {"LogicalNot", pointwise<logical_not>, kElementwiseOrder},
    {"Negative", pointwise<negative>, kElementwiseOrder},
    {"Reciprocal", pointwise<reciprocal>, kElementwiseOrder},
    {"Relu", pointwise<relu>, kElementwiseOrder},
    {"Relu6", pointwise<relu6>, kElementwiseOrder},
    {"Rsqrt", pointwise<rsqrt>, kElementwiseOrder},
    {"Selu", pointwise<selu>, kElementwiseOrder},
    {"Sigmoid", pointwise<sigmoid>, kElementwiseOrder},
    {"Sign", pointwise<sign>, kElementwiseOrder},
    {"Silu", pointwise<silu>, kElementwiseOrder},
    {"Sin", pointwise<octet::sin>, kElementwiseOrder},
    {"Softplus", pointwise<softplus>, kElementwiseOrder},
    {"Softsign", pointwise<softsign>, kElementwiseOrder},
    {"Sqrt", pointwise<octet::sqrt>, kElementwiseOrder},
    {"Square", pointwise<square>, kElementwiseOrder},
    {"Tanh", pointwise<octet::tanh>, kElementwiseOrder},
    {"identity", [](FunctionCall& c) -> Outputs { return {c.x()}; },
     kElementwiseOrder},
};

using Numbers = std::vector<double>;

// Applies the function in float64, so that results are rounded once.
std::vector<float> mapped(const Numbers& numbers, double (*f)(double)) {
  std::vector<float> result;
  for (const double number : numbers) {
    result.push_back(static_cast<float>(f(number)));
  }
  return result;
}
std::vector<float> floats(const Numbers& numbers) {
  return {numbers.begin(), numbers.end()};
}
float first(const Numbers& numbers) { return static_cast<float>(numbers[0]); }

// Functions of two tensors, or of a tensor and numbers for its last axis.
// find_row() finds tf's names, too.
struct Arithmetic {
  std::string_view name;
  SymbolicTensor (*tensors)(const SymbolicTensor& x, const SymbolicTensor& y);
  /// Computes x op k, or k op x if `swapped`; null if unsupported.
  SymbolicTensor (*numbers)(const SymbolicTensor& x, const Numbers& k,
                            bool swapped);
  bool single = false;  ///< `k` must be a single number
};

template <SymbolicTensor (*kCompare)(const SymbolicTensor&, float),
          SymbolicTensor (*kSwapped)(const SymbolicTensor&, float)>
SymbolicTensor compare_number(const SymbolicTensor& x, const Numbers& k,
                              bool swapped) {
  return swapped ? kSwapped(x, first(k)) : kCompare(x, first(k));
}

constexpr Arithmetic kArithmetic[] = {
    {"Add", add,
     [](const SymbolicTensor& x, const Numbers& k, bool) {
       return affine(x, {1}, floats(k));
     }},
    {"Subtract", subtract,
     [](const SymbolicTensor& x, const Numbers& k, bool swapped) {
       if (swapped) return affine(x, {-1}, floats(k));
       return affine(x, {1}, mapped(k, [](double v) { return -v; }));
     }},
    {"Multiply", multiply,
     [](const SymbolicTensor& x, const Numbers& k, bool) {
       return affine(x, floats(k), {0});
     }},
    {"Divide", divide,
     [](const SymbolicTensor& x, const Numbers& k, bool swapped) {
       if (swapped) return affine(reciprocal(x), floats(k), {0});
       return affine(x, mapped(k, [](double v) { return 1 / v; }), {0});
     }},
    {"Power", nullptr,
     [](const SymbolicTensor& x, const Numbers& k, bool) {
       return power(x, first(k));
     },
     true},
    {"Maximum", maximum,
     [](const SymbolicTensor& x, const Numbers& k, bool) {
       return clip(x, first(k), {});
     },
     true},
    {"Minimum", minimum,
     [](const SymbolicTensor& x, const Numbers& k, bool) {
       return clip(x, {}, first(k));
     },
     true},
    {"Equal", equal, compare_number<equal, equal>, true},
    {"Greater", greater, compare_number<greater, less>, true},
    {"GreaterEqual", greater_equal, compare_number<greater_equal, less_equal>,
     true},
    {"Less", less, compare_number<less, greater>, true},
    {"LessEqual", less_equal, compare_number<less_equal, greater_equal>, true},
    {"NotEqual", not_equal, compare_number<not_equal, not_equal>, true},
    {"LogicalAnd", logical_and, nullptr},
    {"LogicalOr", logical_or, nullptr},
    {"LogicalXor", logical_xor, nullptr},
};

template <size_t kSize, class Row>
const Row* find_row(const Row (&rows)[kSize], std::string_view name) {
  const std::string keras = keras_function_name(name);
  const auto* found = std::ranges::find(rows, keras, &Row::name);
  return found == std::end(rows) ? nullptr : found;
}

const KerasFunction* find_any(std::string_view name) {
  const KerasFunction* found = find_row(kPointwiseFunctions, name);
  return found == nullptr ? find_function(name) : found;
}

/// Returns the class in Keras 3 or the name in tf; "" if the file has none.
std::string function_of(const KerasLayer& layer) {
  if (layer.written_class != "TFOpLambda" &&
      layer.written_class != "SlicingOpLambda") {
    return layer.written_class;
  }
  const Config* function = layer.config.find("function");
  if (function == nullptr || !function->is_string()) return "";
  const std::string& name = function->as_string();
  // TensorFlow's namespace of transpose, pad and squeeze.
  constexpr std::string_view kVersion1 = "compat.v1.";
  return name.starts_with(kVersion1) ? name.substr(kVersion1.size()) : name;
}

/// Returns the settings in the configuration and the arguments of a call.
template <class Arguments>
Settings settings_of(const KerasLayer& layer, const Arguments& arguments,
                     bool (*is_tensor)(const typename Arguments::value_type&)) {
  Settings settings(layer.config);
  for (const auto& argument : arguments) {
    if (!is_tensor(argument)) settings.add(argument.name, argument.constant);
  }
  return settings;
}

// Whether an argument is an operand; positional arguments have no name.
bool is_operand(const std::string& name) {
  constexpr std::string_view kNames[] = {"",   "x", "y", "x1",
                                         "x2", "a", "b", "features"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// Keras 3 has an operation and a merging layer of each of these names.
bool is_merging_layer(std::string_view name) {
  return name == "Add" || name == "Subtract" || name == "Multiply" ||
         name == "Divide";
}

bool is_number(const Config& c) {
  return c.is_number() ||
         (c.is_list() && !c.as_list().empty() &&
          std::ranges::all_of(c.as_list(), &Config::is_number));
}

Numbers numbers_of(const Config& c) {
  Numbers result;
  for (const Config& each : c.is_list() ? c.as_list() : Config::List{c}) {
    result.push_back(each.as_number());
  }
  return result;
}

class OperationBuilder final : public LayerBuilder {
 public:
  OperationBuilder(const KerasLayer& layer, const std::string& name,
                   BuildState& state)
      : LayerBuilder(layer, name, state), function_(function_of(layer)) {}

  // Constants differ between calls, so each call has its own layers. A nested
  // model counts its calls from 0 in each of its own calls.
  std::vector<KerasValue> call(const std::vector<BuiltArgument>& arguments,
                               size_t) override {
    const std::string call_name =
        calls_ == 0 ? name() : fmt::format("{}_{}", name(), calls_);
    ++calls_;
    const Settings settings = settings_of(
        layer(), arguments,
        +[](const BuiltArgument& a) { return a.value.has_value(); });
    std::vector<KerasValue> values;
    for (const BuiltArgument& argument : arguments) {
      if (argument.value) values.push_back(*argument.value);
    }
    if (values.empty()) {
      throw FormatError("count_mismatch", "inbound_nodes",
                        "must have a tensor, got none");
    }
    FunctionCall c{
        .settings = settings, .values = values, .formats = state().formats};
    return named(c, outputs_of(c, arguments), call_name);
  }

 private:
  // Converts errors of ops.h, which reject the arguments in the file, to
  // UnsupportedError.
  Outputs outputs_of(FunctionCall& c,
                     const std::vector<BuiltArgument>& arguments) const {
    try {
      if (const KerasFunction* function = find_any(function_)) {
        return apply(*function, c);
      }
      return apply_to_operands(c, operands_of(arguments));
    } catch (const ShapeError& error) {
      throw UnsupportedError(error);
    } catch (const ValueError& error) {
      throw UnsupportedError(error);
    }
  }

  Outputs apply(const KerasFunction& function, FunctionCall& c) const {
    if (function.tensors != 0 && c.values.size() != function.tensors) {
      throw UnsupportedError("count_mismatch", "inbound_nodes",
                             fmt::format("must have {} tensors, got {}",
                                         function.tensors, c.values.size()));
    }
    c.arrange(function.order == KerasFunction::Order::keras
                  ? AxisOrder{}
                  : order_as(function.order == KerasFunction::Order::axis
                                 ? "Concatenate"
                                 : "Add",
                             c.values));
    Outputs outputs = function.apply(c);
    if (const auto unread = c.settings.unread()) {
      throw UnsupportedError(
          "unsupported_attribute", function_,
          unread->empty()
              ? std::string("constants among the tensors are not supported")
              : fmt::format("argument '{}' is not supported", *unread));
    }
    return outputs;
  }

  /// Returns the axis order of a layer of that class.
  static AxisOrder order_as(const char* class_name,
                            const std::vector<KerasValue>& values) {
    return order_for({"", class_name, Config::Object()}, values);
  }

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

  Outputs apply_to_operands(FunctionCall& c,
                            const std::vector<BuiltArgument>& operands) const {
    c.arrange(order_as("Add", c.values));
    const size_t tensors = c.values.size();
    const Arithmetic* arithmetic = find_row(kArithmetic, function_);
    if (arithmetic != nullptr && operands.size() == 2) {
      if (tensors == 2 && arithmetic->tensors != nullptr &&
          c.x().shape().rank() == c.x(1).shape().rank()) {
        return {arithmetic->tensors(c.x(), c.x(1))};
      }
      const bool swapped = !operands[0].value;
      const Config& k = operands[swapped ? 0 : 1].constant;
      const bool power = arithmetic->tensors == nullptr;
      if (tensors == 1 && arithmetic->numbers != nullptr && is_number(k) &&
          !(arithmetic->single && k.is_list()) && !(power && swapped)) {
        // Lists apply to the last axis in Keras' order.
        if (k.is_list()) c.arrange({});
        return {arithmetic->numbers(c.x(), numbers_of(k), swapped)};
      }
    }
    throw UnsupportedError("unsupported_operator", function_,
                           "operands must be tensors of the same rank, or a "
                           "tensor and numbers, for which Octet has a layer");
  }

  static std::vector<KerasValue> named(const FunctionCall& c,
                                       const Outputs& outputs,
                                       const std::string& name) {
    UniqueNames names;
    std::vector<KerasValue> result;
    for (size_t i = 0; i < outputs.size(); ++i) {
      name_added_layers(c.inputs, outputs[i],
                        i == 0 ? name : fmt::format("{}/{}", name, i),
                        [&](const std::string& own) { return names.add(own); });
      result.push_back(value_in(c.order, outputs[i]));
    }
    return result;
  }

  std::string function_;
  int64_t calls_ = 0;
};

}  // namespace

bool is_known_operation(const KerasLayer& layer) {
  const std::string function = function_of(layer);
  return find_row(kArithmetic, function) != nullptr ||
         find_any(function) != nullptr;
}

int64_t outputs_of(const KerasLayer& layer) {
  const std::string function = function_of(layer);
  // An unlimited number: the function is rejected later, by name.
  if (layer.operation && !is_known_operation(layer)) return INT64_MAX;
  if (!layer.operation) return 1 + states_of(layer);
  if (layer.calls.empty()) return 1;
  // All calls have the same number: a function with other settings is another
  // layer.
  return outputs_of(function,
                    settings_of(
                        layer, layer.calls[0], +[](const KerasArgument& a) {
                          return a.tensor.has_value();
                        }));
}

bool is_built_as_operation(const KerasLayer& layer) {
  if (layer.operation) return true;
  if (find_layer_def(layer.class_name) == nullptr) {
    return is_known_operation(layer);
  }
  if (!is_merging_layer(layer.written_class)) return false;
  for (const KerasCall& call : layer.calls) {
    for (const KerasArgument& argument : call) {
      if (!argument.tensor && is_number(argument.constant)) return true;
    }
  }
  return false;
}

std::unique_ptr<LayerBuilder> operation_builder(const KerasLayer& layer,
                                                const std::string& name,
                                                BuildState& state) {
  return std::make_unique<OperationBuilder>(layer, name, state);
}

}  // namespace octet::io
