#include <optional>

#include <fmt/format.h>

#include "placement/tensorrt/rules.h"

namespace octet::quant {
namespace {

// Returns whether x has a single value per channel for the whole image or
// sequence.
bool is_one_pixel(const SymbolicTensor& x, const GraphNode& node) {
  const auto pixels = [](const Shape& shape) {
    return shape.slice(1, shape.rank() - 1).size();
  };
  const int rank = x.shape().rank();
  return (rank == 3 || rank == 4) && node.shape.rank() == rank &&
         pixels(x.shape()) == 1 && pixels(node.shape) > 1;
}

bool ends_in_sigmoid(const GraphIndex& graph, const SymbolicTensor& x) {
  const GraphNode* node = &graph.source(x);
  while (graph.role(*node) == LayerRole::movement) {
    node = &graph.source(node->inputs[0]);
  }
  return graph.kind(*node) == FusionKind::gate ||
         graph.epilogue(*node) == FusionKind::gate;
}

// Returns the gate input of a squeeze-and-excite block.
std::optional<size_t> gate_of(const GraphIndex& graph, const GraphNode& node) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const SymbolicTensor& x = node.inputs[i];
    if (is_one_pixel(x, node) || ends_in_sigmoid(graph, x)) return i;
  }
  return std::nullopt;
}

}  // namespace

Decision decide_multiply(const PlacementState& state, const GraphNode& node,
                         const TensorrtPolicy& options) {
  const GraphIndex& graph = state.graph();
  const auto name = [&](size_t i) {
    return graph.tensor_name(graph.source(node.inputs[i]));
  };
  if (silu_gate(graph, node) != nullptr) {
    return skipped("P15", fmt::format("x * sigmoid(x) of {} and {} fuses "
                                      "with its predecessor",
                                      name(0), name(1)));
  }
  const std::optional<size_t> gate = gate_of(graph, node);
  if (!gate) {
    return skipped(
        "P15", "no input is a gate (a sigmoid, or a single pixel per image)");
  }
  if (!options.squeeze_excite) {
    return skipped("P15", "squeeze_excite = false skips Multiply");
  }
  const Successors& successors = state.successors(node);
  if (successors.quantized == nullptr) {
    return skipped("P15", "no successor is quantized");
  }
  Decision decision{.rule = "P15"};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    decision.sites.push_back(
        {QdqSite::input(static_cast<int>(i)), "P15",
         i == *gate ? fmt::format("gate {}; {} reads the product", name(i),
                                  graph.tensor_name(*successors.quantized))
                    : fmt::format("{}, which {} gates", name(i), name(*gate))});
  }
  return decision;
}

}  // namespace octet::quant
