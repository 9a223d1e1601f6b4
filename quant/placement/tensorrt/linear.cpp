#include <algorithm>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>

#include "placement/tensorrt/rules.h"

namespace octet::quant {
namespace {

bool filters_single_channels(const GraphNode& node) {
  if (GraphIndex::is_spatial(node, "DepthwiseConv")) return true;
  const auto convolutions = node.layer->facts().convolutions;
  return convolutions.size() == 1 && is_depthwise(convolutions[0]);
}

bool is_transposed(const GraphNode& node) {
  const std::string name = float_layer(*node.layer).class_name();
  return name == "Conv2DTranspose" || name == "Conv1DTranspose";
}

// Returns the reason if an option leaves the layer in float.
std::optional<Decision> skipped_by_option(const GraphNode& node, bool first,
                                          bool last,
                                          const TensorrtPolicy& options) {
  const int64_t in = node.inputs[0].shape()[-1];
  const int64_t out = node.shape[-1];
  if (first && !options.first_layer) {
    return skipped("A06",
                   "no linear predecessor; first_layer = false skips it");
  }
  if (last && !options.last_layer) {
    return skipped("A06", "no linear successor; last_layer = false skips it");
  }
  const auto narrow = [&](const ConvolutionShape& c) {
    return is_narrow(c, first);
  };
  if (options.skip_narrow_convs &&
      std::ranges::any_of(node.layer->facts().convolutions, narrow)) {
    return skipped(
        "P24",
        fmt::format("{} channels in, {} out, and skip_narrow_convs", in, out));
  }
  if (options.skip_tiny_gemms && node.layer->facts().convolutions.empty() &&
      is_tiny_product(in, out)) {
    return skipped(
        "P25",
        fmt::format("{} features in, {} out, and skip_tiny_gemms", in, out));
  }
  if (options.skip_without_fp8 && is_transposed(node)) {
    return skipped("P32", "no FP8 kernel for transposed convolutions");
  }
  if (options.skip_without_fp8) {
    const auto convolutions = node.layer->facts().convolutions;
    if (std::ranges::any_of(convolutions, is_small_for_fp8) ||
        (convolutions.empty() && is_tiny_product(in, out))) {
      return skipped("P32", fmt::format("{} channels in, {} out: too small for "
                                        "an FP8 kernel",
                                        in, out));
    }
  }
  if (options.skip_depthwise && filters_single_channels(node)) {
    return skipped("P26", "one filter per channel, and skip_depthwise");
  }
  return std::nullopt;
}

Decision decide(const GraphIndex& graph, const GraphNode& node,
                const WrapperInfo& info, bool first, bool last,
                const TensorrtPolicy& options) {
  if (!info.enabled) {
    return skipped("P01", fmt::format("{} is off by default", info.name));
  }
  if (auto out = skipped_by_option(node, first, last, options))
    return *std::move(out);
  const std::string& layer_class = info.layer_class;
  Decision decision{.rule = "P01"};
  decision.sites = wrapper_sites(
      node, "P01",
      fmt::format("weights of {}, quantized as its data", layer_class));
  for (PlacedSite& placed : decision.sites) {
    if (placed.site.kind == SiteKind::intermediate) {
      placed.reason = fmt::format("data of {}'s second product", layer_class);
    }
    if (placed.site.kind != SiteKind::input) continue;
    const auto input = static_cast<size_t>(placed.site.index);
    const GraphNode& source = graph.source(node.inputs[input]);
    placed.reason = fmt::format("data of {}, from {}", layer_class,
                                graph.tensor_name(source));
  }
  return decision;
}

// Only for layers called once: of several tensors with a common quantizer, not
// all need be padded.
bool moves_to_pad(const PlacementState& state,
                  const GraphIndex::Consumer& consumer) {
  const GraphNode& node = *consumer.node;
  const GraphIndex& graph = state.graph();
  return consumer.input == 0 && !state.is_fixed(node) &&
         graph.is_called_once(*node.layer) && state.reads_int8(node, 0) &&
         (graph.is_linear(node) || GraphIndex::is_spatial(node, "ZeroPadding"));
}

}  // namespace

void decide_linear(PlacementState& state, const TensorrtPolicy& options) {
  const GraphIndex& graph = state.graph();
  const Fusions<GraphNode>& fusions = state.fusions();
  for (const auto& node : graph.model().nodes()) {
    if (!graph.is_linear(*node) || state.is_fixed(*node)) continue;
    const WrapperInfo info =
        wrapper_info(float_layer(*node->layer).class_name());
    if (info.name.empty()) continue;
    state.decide(*node, decide(graph, *node, info,
                               !fusions.has_linear_predecessor(*node),
                               !fusions.has_linear_successor(*node), options));
  }
}

void move_before_pads(PlacementState& state) {
  const GraphIndex& graph = state.graph();
  for (const auto& node : std::views::reverse(graph.model().nodes())) {
    const auto consumers = graph.consumers(*node);
    const bool moves =
        GraphIndex::is_spatial(*node, "ZeroPadding") &&
        !state.is_fixed(*node) && graph.is_called_once(*node->layer) &&
        !consumers.empty() && !graph.is_output(*node) &&
        std::ranges::all_of(
            consumers, [&](const auto& r) { return moves_to_pad(state, r); });
    if (!moves) continue;
    std::vector<std::string> names;
    for (const auto& consumer : consumers) {
      state.move_to_pad(*consumer.node);
      names.push_back(graph.tensor_name(*consumer.node));
    }
    state.decide(
        *node,
        quantized_input(
            0, "P20",
            fmt::format("before the pad, which fuses with {}; from {}",
                        name_list(names),
                        graph.tensor_name(graph.source(node->inputs[0])))));
  }
}

}  // namespace octet::quant
