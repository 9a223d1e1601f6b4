#include <vector>

#include <fmt/format.h>

#include "chains.h"
#include "rules.h"

namespace octet::quant {
namespace {

// Whether this is a pad with one reader, so that Q/DQ can stand before it.
bool is_own_pad(const Draft& draft, const GraphNode& pad) {
  const GraphIndex& graph = draft.graph();
  return GraphIndex::is(pad, "ZeroPadding2D") && graph.uses(pad) == 1 &&
         !draft.is_fixed(pad) && graph.calls(*pad.layer).size() == 1;
}

// What reads a tensor through the quantizer of that tensor, besides `except`.
// Layers with several calls have quantizers of their own.
std::vector<std::string> sharers(const Draft& draft, const GraphNode& made,
                                 const GraphNode& except) {
  const GraphIndex& graph = draft.graph();
  std::vector<std::string> names;
  for (const auto& [reader, input] : graph.readers(made)) {
    if (reader != &except && draft.reads_int8(*reader, input) &&
        graph.calls(*reader->layer).size() == 1) {
      names.push_back(graph.tensor_name(*reader));
    }
  }
  return names;
}

void decide_max_pool(Draft& draft, const GraphNode& node) {
  const GraphIndex& graph = draft.graph();
  // From the tensor that the pool reads back over pads of its own.
  const GraphNode* reader = &node;
  while (graph.calls(*node.layer).size() == 1) {
    const GraphNode& made = graph.source(reader->inputs[0]);
    const auto siblings = sharers(draft, made, *reader);
    if (!siblings.empty()) {
      const std::string reason =
          fmt::format("one quantizer of {} with {}", graph.tensor_name(made),
                      name_list(siblings));
      draft.decide(node, quantized_input(0, "P12", reason));
      if (reader != &node) {
        draft.move_to_pad(node);
        draft.decide(
            *reader,
            quantized_input(0, "P20",
                            fmt::format("before the pad of {}; {}",
                                        graph.tensor_name(node), reason)));
      }
      return;
    }
    if (!is_own_pad(draft, made)) break;
    reader = &made;
  }
  const GraphNode* behind = draft.ahead(node).quantized;
  draft.decide(
      node, left_alone("P10", behind == nullptr
                                  ? "nothing behind it is quantized"
                                  : fmt::format("Q/DQ moves through it from {}",
                                                graph.tensor_name(*behind))));
}

// What reads a tensor in INT8 besides a Concatenate, pools looked through.
std::vector<std::string> other_readers(const Draft& draft,
                                       const GraphNode& made,
                                       const GraphNode& except) {
  const GraphIndex& graph = draft.graph();
  std::vector<std::string> names;
  for (const auto& [reader, input] : graph.readers(made)) {
    if (reader == &except) continue;
    const GraphNode* int8 = draft.reads_int8(*reader, input) ? reader
                            : graph.role(*reader) == LayerRole::movement
                                ? draft.ahead(*reader).quantized
                                : nullptr;
    if (int8 != nullptr) names.push_back(graph.tensor_name(*int8));
  }
  return names;
}

// What comes out of a quantized pool lies on its grid already.
void share_shortcut(Draft& draft, const GraphNode& pool) {
  if (!draft.reads_int8(pool, 0)) return;
  const GraphIndex& graph = draft.graph();
  for (const auto& [reader, input] : graph.readers(pool)) {
    if (!GraphIndex::is(*reader, "Add") || draft.is_fixed(*reader) ||
        !draft.reads_int8(*reader, input)) {
      continue;
    }
    draft.take_back(*reader, input, "P10",
                    fmt::format("pooled shortcut: what {} hands on is on its "
                                "grid already",
                                graph.tensor_name(pool)));
  }
}

}  // namespace

Decision decide_average_pool(const Draft& draft, const GraphNode& node,
                             const TensorrtPolicy& options) {
  const GraphIndex& graph = draft.graph();
  if (!options.average_pools) {
    return left_alone("P11", "average_pools = false leaves it alone");
  }
  const GraphNode* reader = draft.ahead(node).unmerged;
  if (reader == nullptr) {
    return left_alone("P11", "nothing behind it is quantized");
  }
  return quantized_input(
      0, "P11",
      fmt::format("averages {} in INT8, as {} reads it",
                  graph.tensor_name(graph.source(node.inputs[0])),
                  graph.tensor_name(*reader)));
}

void decide_max_pools(Draft& draft) {
  const GraphIndex& graph = draft.graph();
  for (const auto& node : graph.model().nodes()) {
    if (!GraphIndex::is(*node, "MaxPooling2D")) continue;
    if (!draft.is_fixed(*node)) decide_max_pool(draft, *node);
    share_shortcut(draft, *node);
  }
}

void decide_concatenations(Draft& draft) {
  const GraphIndex& graph = draft.graph();
  for (const auto& node : graph.model().nodes()) {
    if (!GraphIndex::is(*node, "Concatenate") || draft.is_fixed(*node)) {
      continue;
    }
    const GraphNode* behind = draft.ahead(*node).quantized;
    std::string reason = behind == nullptr
                             ? "nothing behind it is quantized"
                             : fmt::format("Q/DQ moves through it from {}",
                                           graph.tensor_name(*behind));
    for (const SymbolicTensor& x : node->inputs) {
      const GraphNode& made = graph.source(x);
      const auto others = other_readers(draft, made, *node);
      if (others.empty()) continue;
      reason += fmt::format("; {} has another scale for {}",
                            graph.tensor_name(made), name_list(others));
    }
    draft.decide(*node, left_alone("P14", std::move(reason)));
  }
}

}  // namespace octet::quant
