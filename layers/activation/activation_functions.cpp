#include "activation/activation_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "activation/composed_activations.h"
#include "base/checks.h"

namespace octet {
namespace {

// Exports a function as a single ONNX node without attributes.
template <const char* Op>
OnnxValue emit_node(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node(Op, {x.name});
  return y;
}

constexpr char kExp[] = "Exp";
constexpr char kSelu[] = "Selu";
constexpr char kSigmoid[] = "Sigmoid";
constexpr char kSoftplus[] = "Softplus";
constexpr char kSoftsign[] = "Softsign";
constexpr char kTanh[] = "Tanh";

OnnxValue emit_plain_relu(EmitContext& context, const OnnxValue& x) {
  return emit_relu(context, x, {});
}

OnnxValue emit_relu6(EmitContext& context, const OnnxValue& x) {
  return emit_relu(context, x, {.max_value = 6});
}

// Keras' default slope of the function; the layer's default is 0.3.
OnnxValue emit_leaky_relu(EmitContext& context, const OnnxValue& x) {
  return emit_relu(context, x, {.negative_slope = 0.2f});
}

OnnxValue emit_elu(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node("Elu", {x.name}, {{"alpha", 1.0f}});
  return y;
}

OnnxValue emit_hard_sigmoid(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node("HardSigmoid", {x.name},
                        {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
  return y;
}

// x * gate(x): the operators HardSwish and Gelu require opsets 14 and 20.
OnnxValue emit_hard_swish(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node("Mul", {x.name, emit_hard_sigmoid(context, x).name});
  return y;
}

OnnxValue emit_swish(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node("Mul", {x.name, context.node("Sigmoid", {x.name})});
  return y;
}

OnnxValue emit_gelu(EmitContext& context, const OnnxValue& x) {
  const std::string scaled =
      context.node("Div", {x.name, context.scalar("sqrt2", std::sqrt(2.0f))});
  const std::string sum = context.node(
      "Add", {context.node("Erf", {scaled}), context.scalar("one", 1)});
  const std::string product = context.node("Mul", {x.name, sum});
  OnnxValue y = x;
  y.name = context.node("Mul", {product, context.scalar("half", 0.5f)});
  return y;
}

// Over all features of a pixel or row, in any order.
OnnxValue emit_softmax(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node("Softmax", {x.name}, {{"axis", int64_t{-1}}});
  return y;
}

Variable apply_hard_swish(const Variable& x) { return hard_swish(x); }
Variable apply_swish(const Variable& x) { return swish(x); }

constexpr ActivationFunction kFunctions[] = {
    {"linear", [](const Variable& x) { return x; },
     [](EmitContext&, const OnnxValue& x) { return x; }},
    {"elu", [](const Variable& x) { return elu(x); }, emit_elu},
    {"exponential", [](const Variable& x) { return exponential(x); },
     emit_node<kExp>, true},
    {"gelu", [](const Variable& x) { return gelu(x); }, emit_gelu},
    {"hard_sigmoid", [](const Variable& x) { return hard_sigmoid(x); },
     emit_hard_sigmoid, true},
    {"hard_silu", apply_hard_swish, emit_hard_swish},
    {"hard_swish", apply_hard_swish, emit_hard_swish},
    {"leaky_relu", [](const Variable& x) { return leaky_relu(x, 0.2f); },
     emit_leaky_relu},
    {"relu", [](const Variable& x) { return relu(x); }, emit_plain_relu, true},
    {"relu6", [](const Variable& x) { return relu(x, 6); }, emit_relu6, true},
    {"selu", [](const Variable& x) { return selu(x); }, emit_node<kSelu>},
    {"sigmoid", [](const Variable& x) { return sigmoid(x); },
     emit_node<kSigmoid>, true},
    {"silu", apply_swish, emit_swish},
    {"softmax", [](const Variable& x) { return softmax(x); }, emit_softmax,
     true},
    {"softplus", [](const Variable& x) { return softplus(x); },
     emit_node<kSoftplus>, true},
    {"softsign", [](const Variable& x) { return softsign(x); },
     emit_node<kSoftsign>},
    {"swish", apply_swish, emit_swish},
    {"tanh", [](const Variable& x) { return octet::tanh(x); },
     emit_node<kTanh>},
};

std::array<std::span<const ActivationFunction>, 2> tables() {
  return {kFunctions, composed_activations()};
}

const ActivationFunction* find(std::string_view name) {
  for (const auto functions : tables()) {
    const auto found =
        std::ranges::find(functions, name, &ActivationFunction::name);
    if (found != functions.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

OnnxValue emit_relu(EmitContext& context, const OnnxValue& x,
                    const ReluOptions& o) {
  const bool bounded = !std::isinf(o.max_value);
  OnnxValue y = x;
  if (o.threshold != 0) {
    const std::string threshold = context.scalar("threshold", o.threshold);
    const std::string above =
        bounded
            ? context.node("Min", {x.name, context.scalar("max", o.max_value)})
            : x.name;
    const std::string below =
        context.node("Mul", {context.node("Sub", {x.name, threshold}),
                             context.scalar("slope", o.negative_slope)});
    y.name = context.node(
        "Where", {context.node("Greater", {x.name, threshold}), above, below});
  } else if (o.negative_slope != 0) {
    y.name = context.node("LeakyRelu", {x.name}, {{"alpha", o.negative_slope}});
    if (bounded) {
      y.name =
          context.node("Min", {y.name, context.scalar("max", o.max_value)});
    }
  } else if (bounded) {
    y.name = context.node("Clip", {x.name, context.scalar("min", 0),
                                   context.scalar("max", o.max_value)});
  } else {
    y.name = context.node("Relu", {x.name});
  }
  return y;
}

bool has_activation_function(std::string_view name) {
  return find(name) != nullptr;
}

bool is_non_negative_function(std::string_view name) {
  const ActivationFunction* found = find(name);
  return found != nullptr && found->non_negative;
}

void expect_activation_function(std::string_view name) {
  if (has_activation_function(name)) return;
  std::vector<std::string> known;
  for (const auto functions : tables()) {
    for (const ActivationFunction& each : functions) {
      known.emplace_back(each.name);
    }
  }
  throw_unknown_name("activation", name, std::move(known));
}

const ActivationFunction& find_activation(const std::string& name) {
  expect_activation_function(name);
  return *find(name);
}

}  // namespace octet
