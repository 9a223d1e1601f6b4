#include "chains.h"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>

#include <octet/quant/twin.h>

namespace octet::quant {
namespace {

constexpr std::array<std::string_view, 3> kFloating = {
    "LayerNormalization", "ScaledDotProductAttention", "Softmax"};

bool is_softmax(const GraphNode& node) {
  return activation_of(node) == "softmax";
}

// An element-wise function, or a normalization that is one in inference.
bool is_by_element(const GraphIndex& graph, const GraphNode& node) {
  const LayerRole role = graph.role(node);
  return role == LayerRole::normalization ||
         (role == LayerRole::activation && !is_softmax(node));
}

}  // namespace

std::string name_list(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return fmt::format("{} and {}", names[0], names[1]);
  if (names.size() == 3) {
    return fmt::format("{}, {} and {}", names[0], names[1], names[2]);
  }
  return fmt::format("{}, {} and {} more", names[0], names[1],
                     names.size() - 2);
}

std::string activation_of(const GraphNode& node) {
  const Config config = float_layer(*node.layer).config();
  const Config* found =
      config.is_object() ? config.find("activation") : nullptr;
  return found != nullptr && found->is_string() ? found->as_string() : "linear";
}

bool stays_float(const GraphIndex& graph, const GraphNode& node) {
  if (graph.role(node) == LayerRole::activation) return is_softmax(node);
  const std::string name = float_layer(*node.layer).class_name();
  return std::ranges::find(kFloating, name) != kFloating.end();
}

bool lets_through(const GraphIndex& graph, const GraphNode& node) {
  const LayerRole role = graph.role(node);
  return role == LayerRole::movement || role == LayerRole::merge ||
         is_by_element(graph, node) || GraphIndex::is(node, "Concatenate");
}

bool is_merge(const GraphIndex& graph, const GraphNode& node) {
  return graph.role(node) == LayerRole::merge &&
         silu_gate(graph, node) == nullptr;
}

bool is_sigmoid(const GraphNode& node) {
  const std::string function = activation_of(node);
  return function == "sigmoid" || function == "hard_sigmoid";
}

const GraphNode* silu_gate(const GraphIndex& graph, const GraphNode& node) {
  if (!GraphIndex::is(node, "Multiply") || node.inputs.size() != 2) {
    return nullptr;
  }
  const GraphNode* a = &graph.source(node.inputs[0]);
  const GraphNode* b = &graph.source(node.inputs[1]);
  const auto gates = [&](const GraphNode& gate, const GraphNode& x) {
    return graph.role(gate) == LayerRole::activation && is_sigmoid(gate) &&
           &graph.source(gate.inputs[0]) == &x;
  };
  return gates(*a, *b) ? a : gates(*b, *a) ? b : nullptr;
}

LinearNeighbours::LinearNeighbours(const GraphIndex& graph) {
  const auto is_linear = [&](const GraphNode& node) {
    return graph.role(node) == LayerRole::linear;
  };
  const auto nodes = graph.model().nodes();
  for (const auto& node : nodes) {
    before_[node.get()] =
        std::ranges::any_of(node->inputs, [&](const SymbolicTensor& x) {
          const GraphNode& source = graph.source(x);
          return is_linear(source) || before_.at(&source);
        });
  }
  for (const auto& node : std::views::reverse(nodes)) {
    behind_[node.get()] =
        std::ranges::any_of(graph.readers(*node), [&](const auto& reader) {
          return is_linear(*reader.node) || behind_.at(reader.node);
        });
  }
}

const GraphNode* absorbing(const GraphIndex& graph, const SymbolicTensor& x) {
  const GraphNode* node = &graph.source(x);
  while (graph.role(*node) == LayerRole::normalization) {
    node = &graph.source(node->inputs[0]);
  }
  const bool absorbs = graph.role(*node) == LayerRole::linear &&
                       activation_of(*node) == "linear";
  return absorbs ? node : nullptr;
}

ConvBranch conv_branch(const GraphIndex& graph, const SymbolicTensor& x) {
  ConvBranch branch;
  // A linear layer absorbs normalization right behind it only.
  bool normalized = false;
  const GraphNode* node = &graph.source(x);
  int64_t own = 1;  // readers that belong to the branch
  while (true) {
    if (graph.uses(*node) > own) branch.used_more = node;
    if (graph.role(*node) == LayerRole::linear && !is_softmax(*node)) {
      if (normalized && activation_of(*node) != "linear") return {};
      branch.linear = node;
      return branch;
    }
    const bool is_norm = graph.role(*node) == LayerRole::normalization;
    if (normalized && !is_norm) return {};
    normalized = is_norm;
    own = 1;
    if (const GraphNode* gate = silu_gate(graph, *node)) {
      if (graph.uses(*gate) > 1) branch.used_more = gate;
      node = gate;
      own = 2;
    } else if (!is_by_element(graph, *node)) {
      return {};
    }
    node = &graph.source(node->inputs[0]);
  }
}

}  // namespace octet::quant
