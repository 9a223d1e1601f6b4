// Policy::tensorrt: Q/DQ for TensorRT's fusions. Order as in
// docs/guides/placement-tensorrt.md:
// linear layers and their pads; in reverse model order, layers that depend on
// their successors; in model order, layers that depend on other consumers of a
// tensor.
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>

#include "placement/policies.h"
#include "placement/tensorrt/rules.h"

namespace octet::quant {
namespace {

// Returns nothing for linear layers (already decided) and layers without a
// wrapper (never quantized).
std::optional<Decision> decide(PlacementState& state, const GraphNode& node,
                               const TensorrtPolicy& options) {
  const GraphIndex& graph = state.graph();
  const auto is = [&](std::string_view name) {
    return GraphIndex::is(node, name);
  };
  const WrapperInfo info = wrapper_info(float_layer(*node.layer).class_name());
  if (info.user_defined) {
    const std::string reason = fmt::format("{} is {} by default", info.name,
                                           info.enabled ? "on" : "off");
    if (!info.enabled) return skipped("default", reason);
    return Decision{.sites = wrapper_sites(node, "default", reason),
                    .rule = "default"};
  }
  if (is_never_int8(graph.kind(node))) {
    return skipped("P17", "stays float, as TensorRT fuses it as a whole");
  }
  if (info.name.empty()) return std::nullopt;
  if (graph.role(node) == LayerRole::normalization) {
    return decide_normalization(state, node);
  }
  if (is("Add")) return decide_add(state, node, options);
  if (is("Multiply")) return decide_multiply(state, node, options);
  if (graph.kind(node) == FusionKind::average_pool) {
    return decide_average_pool(state, node, options);
  }
  if (GraphIndex::is_spatial(node, "MaxPooling") || is("Concatenate")) {
    return std::nullopt;
  }
  if (!info.enabled) {
    return skipped(
        "P27", fmt::format("{} fuses with no INT8 layer", info.layer_class));
  }
  return Decision{
      .sites = wrapper_sites(node, "default",
                             fmt::format("default of {}", info.layer_class)),
      .rule = "default"};
}

}  // namespace

Decisions tensorrt_policy(const GraphIndex& graph, const Decisions& fixed,
                          const TensorrtPolicy& options) {
  PlacementState state(graph, fixed);
  decide_linear(state, options);
  move_before_pads(state);
  for (const auto& node : std::views::reverse(graph.model().nodes())) {
    if (&graph.source(*node) != node.get()) continue;
    state.find_successors(*node);
    if (state.find(*node) != nullptr) continue;
    if (auto decision = decide(state, *node, options)) {
      state.decide(*node, *std::move(decision));
    }
  }
  decide_max_pools(state);
  decide_concatenations(state);
  return state.decisions();
}

}  // namespace octet::quant
