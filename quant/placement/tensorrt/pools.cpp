#include <vector>

#include <fmt/format.h>

#include "placement/tensorrt/rules.h"

namespace octet::quant {
namespace {

// Returns whether Q/DQ can move before a pad: it has a single consumer.
bool is_own_pad(const PlacementState& state, const GraphNode& pad) {
  const GraphIndex& graph = state.graph();
  return GraphIndex::is_spatial(pad, "ZeroPadding") && graph.uses(pad) == 1 &&
         !state.is_fixed(pad) && graph.is_called_once(*pad.layer);
}

// Returns the consumers of a tensor that share its quantizer, without `except`.
// Layers called several times have separate quantizers.
std::vector<std::string> sharers(const PlacementState& state,
                                 const GraphNode& made,
                                 const GraphNode& except) {
  const GraphIndex& graph = state.graph();
  std::vector<std::string> names;
  for (const auto& [consumer, input] : graph.consumers(made)) {
    if (consumer != &except && state.reads_int8(*consumer, input) &&
        graph.is_called_once(*consumer->layer)) {
      names.push_back(graph.tensor_name(*consumer));
    }
  }
  return names;
}

void decide_max_pool(PlacementState& state, const GraphNode& node) {
  const GraphIndex& graph = state.graph();
  // Starts at the pool's input and continues over its pads.
  const GraphNode* consumer = &node;
  while (graph.is_called_once(*node.layer)) {
    const GraphNode& made = graph.source(consumer->inputs[0]);
    const auto siblings = sharers(state, made, *consumer);
    if (!siblings.empty()) {
      const std::string reason =
          fmt::format("one quantizer of {} with {}", graph.tensor_name(made),
                      name_list(siblings));
      state.decide(node, quantized_input(0, "P12", reason));
      if (consumer != &node) {
        state.move_to_pad(node);
        state.decide(
            *consumer,
            quantized_input(0, "P20",
                            fmt::format("before the pad of {}; {}",
                                        graph.tensor_name(node), reason)));
      }
      return;
    }
    if (!is_own_pad(state, made)) break;
    consumer = &made;
  }
  const GraphNode* next = state.successors(node).quantized;
  state.decide(node,
               skipped("P10", next == nullptr
                                  ? "no successor is quantized"
                                  : fmt::format("Q/DQ moves through it from {}",
                                                graph.tensor_name(*next))));
}

// Returns the INT8 consumers of a tensor other than a Concatenate, looking
// through pools.
std::vector<std::string> other_consumers(const PlacementState& state,
                                         const GraphNode& made,
                                         const GraphNode& except) {
  const GraphIndex& graph = state.graph();
  std::vector<std::string> names;
  for (const auto& [consumer, input] : graph.consumers(made)) {
    if (consumer == &except) continue;
    const GraphNode* int8 = state.reads_int8(*consumer, input) ? consumer
                            : graph.role(*consumer) == LayerRole::movement
                                ? state.successors(*consumer).quantized
                                : nullptr;
    if (int8 != nullptr) names.push_back(graph.tensor_name(*int8));
  }
  return names;
}

// The outputs of a quantized pool already have its quantization parameters.
void share_shortcut(PlacementState& state, const GraphNode& pool) {
  if (!state.reads_int8(pool, 0)) return;
  const GraphIndex& graph = state.graph();
  for (const auto& [consumer, input] : graph.consumers(pool)) {
    if (!GraphIndex::is(*consumer, "Add") || state.is_fixed(*consumer) ||
        !state.reads_int8(*consumer, input)) {
      continue;
    }
    state.take_back(*consumer, input, "P10",
                    fmt::format("pooled shortcut: outputs of {} are already "
                                "quantized",
                                graph.tensor_name(pool)));
  }
}

}  // namespace

Decision decide_average_pool(const PlacementState& state, const GraphNode& node,
                             const TensorrtPolicy& options) {
  const GraphIndex& graph = state.graph();
  if (!options.average_pools) {
    return skipped("P11", "average_pools = false skips it");
  }
  const GraphNode* consumer = state.successors(node).unmerged;
  if (consumer == nullptr) {
    return skipped("P11", "no successor is quantized");
  }
  return quantized_input(
      0, "P11",
      fmt::format("averages {} in INT8, as {} reads it",
                  graph.tensor_name(graph.source(node.inputs[0])),
                  graph.tensor_name(*consumer)));
}

void decide_max_pools(PlacementState& state) {
  const GraphIndex& graph = state.graph();
  for (const auto& node : graph.model().nodes()) {
    if (!GraphIndex::is_spatial(*node, "MaxPooling")) continue;
    if (!state.is_fixed(*node)) decide_max_pool(state, *node);
    share_shortcut(state, *node);
  }
}

void decide_concatenations(PlacementState& state) {
  const GraphIndex& graph = state.graph();
  for (const auto& node : graph.model().nodes()) {
    if (!GraphIndex::is(*node, "Concatenate") || state.is_fixed(*node)) {
      continue;
    }
    const GraphNode* next = state.successors(*node).quantized;
    std::string reason = next == nullptr
                             ? "no successor is quantized"
                             : fmt::format("Q/DQ moves through it from {}",
                                           graph.tensor_name(*next));
    for (const SymbolicTensor& x : node->inputs) {
      const GraphNode& made = graph.source(x);
      const auto others = other_consumers(state, made, *node);
      if (others.empty()) continue;
      reason += fmt::format("; {} has another scale for {}",
                            graph.tensor_name(made), name_list(others));
    }
    state.decide(*node, skipped("P14", std::move(reason)));
  }
}

}  // namespace octet::quant
