#include "activation_functions.h"

#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>
#include <octet/runtime/ops.h>

namespace octet {
namespace {

OnnxValue emit_relu(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node("Relu", {x.name});
  return y;
}

OnnxValue emit_relu6(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  y.name = context.node(
      "Clip", {x.name, context.scalar("min", 0), context.scalar("max", 6)});
  return y;
}

// Over all features of a pixel or row: their order is no matter.
OnnxValue emit_softmax(EmitContext& context, const OnnxValue& x) {
  OnnxValue y = x;
  const int64_t axis = x.shape.rank() == 4 ? 1 : -1;
  y.name = context.node("Softmax", {x.name}, {{"axis", axis}});
  return y;
}

constexpr ActivationFunction kFunctions[] = {
    {"linear", [](const Variable& x) { return x; },
     [](EmitContext&, const OnnxValue& x) { return x; }},
    {"relu", [](const Variable& x) { return relu(x); }, emit_relu},
    {"relu6", [](const Variable& x) { return relu(x, 6); }, emit_relu6},
    {"softmax", [](const Variable& x) { return softmax(x); }, emit_softmax},
};

}  // namespace

const ActivationFunction& find_activation(const std::string& name) {
  std::vector<std::string> known;
  for (const ActivationFunction& function : kFunctions) {
    if (function.name == name) return function;
    known.emplace_back(function.name);
  }
  throw ValueError(fmt::format("activation: expected {}, got '{}'{}",
                               fmt::join(known, ", "), name,
                               suggest_names(name, known)));
}

}  // namespace octet
