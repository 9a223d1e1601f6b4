#include "passes.h"

#include <algorithm>
#include <array>

#include "fold.h"

namespace octet::io::importing {
namespace {

template <void (*kRewrite)(OnnxGraph&, OnnxNode&)>
void for_each_node(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    if (!node.gone) kRewrite(graph, node);
  }
}

}  // namespace

std::span<const GraphPass> normalization_passes() {
  static constexpr std::array kPasses{
      GraphPass{"float32", for_each_node<use_float32>},
      GraphPass{"fold", fold_constants},
      GraphPass{"spelling", for_each_node<use_common_spelling>},
      GraphPass{"qoperators", expand_qoperators},
      GraphPass{"clips", move_clips_before_quantizers},
      GraphPass{"identities", remove_identities},
      GraphPass{"fold again", fold_constants},
      GraphPass{"unused", remove_unused},
  };
  return kPasses;
}

void normalize_graph(OnnxGraph& graph) {
  run_passes(graph, "import pass", normalization_passes());
}

void normalize_node(OnnxGraph& graph, OnnxNode& node) {
  use_float32(graph, node);
  use_common_spelling(graph, node);
}

void remove_identities(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    if (!is_op(node, "Identity") || graph.is_output(node.proto.output(0)) ||
        graph.constant(node.proto.input(0)) != nullptr) {
      continue;
    }
    const std::string input = node.proto.input(0);
    if (graph.redirect(node.proto.output(0), input)) {
      graph.remove(node, "nothing to do");
    }
  }
}

void remove_unused(OnnxGraph& graph) {
  auto& nodes = graph.nodes();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const bool unused =
        std::ranges::all_of(node->proto.output(), [&](const auto& output) {
          return output.empty() || graph.uses(output) == 0;
        });
    if (!node->gone && unused) graph.remove(*node, "unused");
  }
}

}  // namespace octet::io::importing
