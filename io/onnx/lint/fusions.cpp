// P01 to P03, P09, P28: weighted layers and their fusions.
#include <algorithm>

#include <fmt/format.h>

#include "../qdq.h"
#include "../tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

void check_both(const LintGraph& graph, const Node& layer, Findings& findings) {
  const auto weight = graph.weight_index(layer);
  const int first = weight == 0 ? 1 : 0;
  const int second = 1 - first;
  if (layer.input_size() < 2) return;
  const bool data = graph.dequantizer(layer.input(first)) != nullptr;
  const bool other = graph.dequantizer(layer.input(second)) != nullptr;
  if (data == other) return;
  const char* what = weight ? "weight" : "second input";
  findings.add("P01", layer,
               fmt::format("its {} has Q/DQ, its {} has none",
                           data ? "data" : what, data ? what : "data"),
               "quantize both, or neither: one alone rounds but stays FP");
}

/// Returns the consumers of a value behind Q and DQ.
std::vector<const Node*> behind_pair(const LintGraph& graph,
                                     const std::string& value) {
  std::vector<const Node*> result;
  for (const Node* quantize : graph.quantizers_of(value)) {
    for (const Node* dequantize : graph.view().consumers(quantize->output(0))) {
      if (!is_dequantize(*dequantize)) continue;
      const auto& consumers = graph.view().consumers(dequantize->output(0));
      result.insert(result.end(), consumers.begin(), consumers.end());
    }
  }
  return result;
}

void check_inner_pairs(const LintGraph& graph, const Node& layer,
                       Findings& findings) {
  const Fusion& fusion = graph.fusion(layer);
  if (graph.has_fused(layer, quant::is_activation)) return;
  const bool normalized = graph.has_fused(layer, [](FusionKind kind) {
    return kind == FusionKind::normalization || kind == FusionKind::add;
  });
  for (const Node* consumer : behind_pair(graph, fusion.output)) {
    const FusionKind kind = graph.kind(*consumer);
    if (kind == FusionKind::normalization && !normalized) {
      findings.add(
          "P02", *consumer,
          fmt::format("Q/DQ between it and '{}'", printable(name_of(layer))),
          "remove that pair: the normalization fuses with the layer");
    } else if (kind == FusionKind::activation) {
      findings.add(
          "P28", *consumer,
          fmt::format("Q/DQ between it and '{}'", printable(name_of(layer))),
          "move that pair behind the activation");
    }
  }
}

// BatchNormalization -> activation -> Q without a preceding layer to fuse with.
void check_normalization(const LintGraph& graph, const Node& node,
                         Findings& findings) {
  if (graph.fused_with(node) != nullptr || graph.is_constant(node.input(0)) ||
      graph.dequantizer(node.input(0)) != nullptr) {
    return;
  }
  const auto& consumers = graph.view().consumers(node.output(0));
  const std::string& end =
      consumers.size() == 1 && quant::is_activation(graph.kind(*consumers[0]))
          ? consumers[0]->output(0)
          : node.output(0);
  if (!graph.is_quantized(end)) return;
  findings.add("P03", node, "input is float, output is quantized",
               "put Q/DQ at its input, too");
}

void check_output(const LintGraph& graph, const LayerForecast& layer,
                  const Node& node, Findings& findings) {
  if (!is_weighted(node) || layer.precision != LayerPrecision::int8_to_float ||
      graph.is_output(graph.fusion(node).output)) {
    return;
  }
  findings.add("P09", node,
               fmt::format("INT8 input, FP output: {}", layer.reason),
               "quantize the output if its consumer is an INT8 layer");
}

}  // namespace

void check_fusions(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.proto().node()) {
    if (is_weighted(node) && !graph.is_constant(node.output(0))) {
      check_both(graph, node, findings);
      check_inner_pairs(graph, node, findings);
    } else if (graph.kind(node) == FusionKind::normalization) {
      check_normalization(graph, node, findings);
    }
  }
  const auto layers = forecast(graph, findings.target());
  size_t next = 0;
  for (const Node& node : graph.proto().node()) {
    if (next < layers.size() && layers[next].node == name_of(node)) {
      check_output(graph, layers[next++], node, findings);
    }
  }
}

}  // namespace octet::io::lint
