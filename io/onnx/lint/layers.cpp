// P01 to P03, P09, P21, P23 to P26, P28: weighted layers, their fusions and
// shapes that are slow in INT8.
//
// Source: TensorRT's tools (trex: alignment of channels); the convolutions and
// products that Model-Optimizer leaves float.
#include <algorithm>

#include "onnx/graph/qdq.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

void check_both(const LintGraph& graph, const Node& layer, Findings& findings) {
  const auto weight = graph.weight_index(layer);
  const int first = weight == 0 ? 1 : 0;
  if (layer.input_size() < 2) return;
  const bool data = graph.dequantizer(layer.input(first)) != nullptr;
  const bool other = graph.dequantizer(layer.input(1 - first)) != nullptr;
  if (data == other) return;
  const char* what = weight ? "weight" : "second input";
  findings.add("P01", layer,
               "quantize both, or neither: one alone rounds but stays FP",
               "its {} has Q/DQ, its {} has none", data ? "data" : what,
               data ? what : "data");
}

/// Returns the consumers of a value behind Q and DQ.
std::vector<const Node*> behind_pair(const LintGraph& graph,
                                     const std::string& value) {
  std::vector<const Node*> result;
  for (const Node* quantize : graph.quantizers_of(value)) {
    for (const Node* dequantize : graph.consumers(quantize->output(0))) {
      if (!is_dequantize(*dequantize)) continue;
      const auto consumers = graph.consumers(dequantize->output(0));
      result.insert(result.end(), consumers.begin(), consumers.end());
    }
  }
  return result;
}

void check_inner_pairs(const LintGraph& graph, const Node& layer,
                       Findings& findings) {
  if (graph.has_fused(layer, quant::is_activation)) return;
  const bool normalized = graph.has_fused(layer, [](FusionKind kind) {
    return kind == FusionKind::normalization || kind == FusionKind::add;
  });
  for (const Node* consumer : behind_pair(graph, graph.fusion(layer).output)) {
    const FusionKind kind = graph.kind(*consumer);
    const bool fuses = kind == FusionKind::normalization && !normalized;
    if (!fuses && kind != FusionKind::activation) continue;
    findings.add(fuses ? "P02" : "P28", *consumer,
                 fuses ? "remove that pair: the normalization fuses with the "
                         "layer"
                       : "move that pair behind the activation",
                 "Q/DQ between it and '{}'", layer);
  }
}

// BatchNormalization -> activation -> Q without a preceding layer to fuse with.
void check_normalization(const LintGraph& graph, const Node& node,
                         Findings& findings) {
  if (graph.fused_with(node) != nullptr || graph.is_constant(node.input(0)) ||
      graph.dequantizer(node.input(0)) != nullptr) {
    return;
  }
  const auto consumers = graph.consumers(node.output(0));
  const std::string& end =
      consumers.size() == 1 && quant::is_activation(graph.kind(*consumers[0]))
          ? consumers[0]->output(0)
          : node.output(0);
  if (!graph.is_quantized(end)) return;
  findings.add("P03", node, "put Q/DQ at its input, too",
               "input is float, output is quantized");
}

void check_output(const LintGraph& graph, const Kernel& layer,
                  Findings& findings) {
  if (!is_weighted(*layer.layer) ||
      layer.precision != LayerPrecision::int8_to_float ||
      graph.is_output(graph.fusion(*layer.layer).output)) {
    return;
  }
  findings.add("P09", *layer.layer,
               "quantize the output if its consumer is an INT8 layer",
               "INT8 input, FP output: {}", layer.reason);
}

bool reorders_images(const Node& node) {
  const auto order = integers_of(node, "perm");
  return is_op(node, "Transpose") &&
         (order == std::vector<int64_t>{0, 2, 3, 1} ||
          order == std::vector<int64_t>{0, 3, 1, 2});
}

// Whether at most a few nodes that quantize or pad are in between.
bool reaches_convolution(const LintGraph& graph, const std::string& value,
                         int steps) {
  if (steps == 0) return false;
  return std::ranges::any_of(graph.consumers(value), [&](const Node* consumer) {
    return is_convolution(*consumer) ||
           (is_op(*consumer, {"QuantizeLinear", "DequantizeLinear", "Pad"}) &&
            reaches_convolution(graph, consumer->output(0), steps - 1));
  });
}

void check_convolution(const LintGraph& graph, const Node& conv,
                       Findings& findings) {
  const auto shape = graph.convolution(conv);
  if (!shape) return;
  const bool transposed = is_op(conv, "ConvTranspose");
  if (transposed || shape->groups > 1) {
    findings.add(
        "P26", conv, "measure it; if it is slower than FP16, remove its Q/DQ",
        "{} in INT8",
        transposed ? std::string("transposed convolution")
                   : fmt::format("convolution with {} groups", shape->groups));
  }
  if (shape->groups == 1 && (shape->in % 16 != 0 || shape->out % 16 != 0)) {
    findings.add("P23", conv, "multiples of 16 use the tensor cores fully",
                 "{} channels in, {} out", shape->in, shape->out);
  }
  if (quant::is_narrow(*shape, !graph.fusions().has_linear_predecessor(conv))) {
    findings.add("P24", conv,
                 "leave it float if accuracy matters more than time",
                 "{} channels in, {} out", shape->in, shape->out);
  }
}

void check_product(const LintGraph& graph, const Node& node,
                   Findings& findings) {
  const auto index = graph.weight_index(node);
  if (!index) return;
  const auto dims = graph.dims(node.input(*index));
  if (!dims || dims->size() < 2) return;
  const auto [least, most] =
      std::minmax((*dims)[dims->size() - 2], (*dims)[dims->size() - 1]);
  if (least < 0 || !quant::is_tiny_product(least, most)) return;
  findings.add("P25", node, "leave it float: such a product is memory-bound",
               "weight is {} by {}", least, most);
}

}  // namespace

void check_layers(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.all_nodes()) {
    if (graph.is_constant(node.output(0))) continue;
    if (reorders_images(node) &&
        reaches_convolution(graph, node.output(0), 4)) {
      findings.add("P21", node,
                   "export channels first throughout (tf2onnx: "
                   "--inputs-as-nchw)",
                   "transposes images before a convolution");
    }
    if (graph.kind(node) == FusionKind::normalization) {
      check_normalization(graph, node, findings);
    }
    if (!is_weighted(node)) continue;
    check_both(graph, node, findings);
    check_inner_pairs(graph, node, findings);
    if (!graph.reads_int8(node)) continue;
    is_convolution(node) ? check_convolution(graph, node, findings)
                         : check_product(graph, node, findings);
  }
  for (const Kernel& layer : kernels(graph, findings.target())) {
    check_output(graph, layer, findings);
  }
}

}  // namespace octet::io::lint
