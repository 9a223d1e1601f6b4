// Policy::tensorrt: Q/DQ where TensorRT's fusions want it. The order is that
// of quant/README.md: linear layers and their pads; then, against the model's
// order, what depends on the layers behind it; then, with it, what depends on
// the other readers of a tensor.
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include <octet/quant/twin.h>
#include <octet/quant/wrapper_registry.h>

#include "decisions.h"
#include "tensorrt/chains.h"
#include "tensorrt/rules.h"

namespace octet::quant {
namespace {

// Nothing for linear layers, which are decided, and for layers without a
// wrapper, which nobody expects to be quantized.
std::optional<Decision> decide(Draft& draft, const GraphNode& node,
                               const TensorrtPolicy& options) {
  const GraphIndex& graph = draft.graph();
  const auto is = [&](std::string_view name) {
    return GraphIndex::is(node, name);
  };
  const WrapperInfo info = wrapper_info(float_layer(*node.layer).class_name());
  if (info.user_defined) {
    const std::string reason = fmt::format("{} is {} by default", info.name,
                                           info.enabled ? "on" : "off");
    if (!info.enabled) return left_alone("default", reason);
    return Decision{.sites = wrapper_sites(node, "default", reason),
                    .rule = "default"};
  }
  if (stays_float(graph, node)) {
    return left_alone("P17", "stays float, as TensorRT fuses it as a whole");
  }
  if (info.name.empty()) return std::nullopt;
  if (graph.role(node) == LayerRole::normalization) {
    return decide_normalization(draft, node);
  }
  if (is("Add")) return decide_add(draft, node, options);
  if (is("Multiply")) return decide_multiply(draft, node, options);
  if (is("AveragePooling2D") || is("GlobalAveragePooling2D")) {
    return decide_average_pool(draft, node, options);
  }
  if (is("MaxPooling2D") || is("Concatenate")) return std::nullopt;
  if (!info.enabled) {
    return left_alone(
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
  Draft draft(graph, fixed);
  decide_linear(draft, options);
  move_before_pads(draft);
  for (const auto& node : std::views::reverse(graph.model().nodes())) {
    if (&graph.source(*node) != node.get()) continue;
    draft.look_ahead(*node);
    if (draft.find(*node) != nullptr) continue;
    if (auto decision = decide(draft, *node, options)) {
      draft.decide(*node, *std::move(decision));
    }
  }
  decide_max_pools(draft);
  decide_concatenations(draft);
  return draft.decisions();
}

}  // namespace octet::quant
