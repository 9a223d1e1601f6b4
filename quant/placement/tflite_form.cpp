// tflite_form(): a tensor at the input of every operator of TensorFlow Lite.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/model.h>
#include <octet/quant/quantize_model.h>

#include "graph/graph_index.h"
#include "placement/split_activations.h"

namespace octet::quant {
namespace {

// x * sigmoid(x).
SymbolicTensor silu(const SymbolicTensor& x, const std::string& name) {
  const SymbolicTensor gate =
      Activation({.activation = "sigmoid", .name = name + "_sigmoid"})(x);
  return Multiply({.name = name})({x, gate});
}

bool is_silu(const GraphNode& node) {
  const std::string function = node.facts().activation;
  return GraphIndex::is(node, "Activation") &&
         (function == "silu" || function == "swish");
}

// Merges the first two inputs, then one input at a time.
template <class Merge>
SymbolicTensor in_pairs(const GraphNode& node, Rebuild& rebuild) {
  const std::string& name = node.layer->name();
  SymbolicTensor y = rebuild.at(node.inputs[0]);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const bool last = i + 1 == node.inputs.size();
    y = Merge({.name = last ? name : fmt::format("{}_{}", name, i)})(
        {y, rebuild.at(node.inputs[i])});
  }
  return y;
}

std::optional<SymbolicTensor> in_tflite_form(const GraphNode& node,
                                             Rebuild& rebuild) {
  if (auto split = split_activation(node, rebuild)) {
    const GraphNode& activation = *split->node;
    if (!is_silu(activation)) return split;
    return silu(activation.inputs[0], activation.layer->name());
  }
  if (!rebuild.stands_alone(*node.layer)) return std::nullopt;
  if (is_silu(node))
    return silu(rebuild.at(node.inputs[0]), node.layer->name());
  if (node.inputs.size() < 3) return std::nullopt;
  if (GraphIndex::is(node, "Add")) return in_pairs<Add>(node, rebuild);
  if (GraphIndex::is(node, "Multiply")) {
    return in_pairs<Multiply>(node, rebuild);
  }
  return std::nullopt;
}

}  // namespace

Model tflite_form(const Model& model) {
  auto rebuilt = model.rebuild(in_tflite_form);
  return rebuilt ? *std::move(rebuilt) : model.clone();
}

}  // namespace octet::quant
