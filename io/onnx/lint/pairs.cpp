// P10 to P13, P16 to P20, P27: Q/DQ pairs among themselves and around operators
// that move, pool or cannot be quantized.
#include <algorithm>

#include <fmt/format.h>

#include "../qdq.h"
#include "../tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

/// Whether a kernel may have INT8 input.
bool may_read_int8(const LintGraph& graph, const Node& node,
                   LintTarget target) {
  if (why_no_kernel(graph, node, target) != nullptr) return false;
  const FusionKind kind = graph.kind(node);
  return kind == FusionKind::linear || kind == FusionKind::bias ||
         kind == FusionKind::average_pool ||
         quant::commutes_with_quantization(kind) || is_quantize(node) ||
         is_op(node, {"Resize", "Pad", "Slice", "Split", "ReduceMean",
                      "ReduceMax", "ReduceSum", "Einsum"});
}

void check_pooling(const LintGraph& graph, const Node& node,
                   Findings& findings) {
  const bool maximum = is_op(node, {"MaxPool", "GlobalMaxPool"});
  const bool average = graph.kind(node) == FusionKind::average_pool;
  if (!maximum && !average) return;
  const Node* before = graph.dequantizer(node.input(0));
  if (maximum && before != nullptr) {
    for (const Node* quantize : graph.quantizers_of(node.output(0))) {
      if (graph.same_qparams(*before, *quantize)) continue;
      findings.add("P10", node,
                   "output is quantized with another scale than the input",
                   "use the scale of its input for its consumers");
      break;
    }
  }
  if (average && before == nullptr && graph.is_quantized(node.output(0))) {
    findings.add("P11", node, "input is float, output is quantized",
                 "put Q/DQ at its input, too");
  }
}

void check_readers(const LintGraph& graph, const std::string& value,
                   Findings& findings) {
  const auto quantizers = graph.quantizers_of(value);
  for (size_t i = 1; i < quantizers.size(); ++i) {
    if (graph.same_qparams(*quantizers[0], *quantizers[i])) continue;
    findings.add("P12", *quantizers[i],
                 fmt::format("'{}' has another scale in '{}'", printable(value),
                             printable(name_of(*quantizers[0]))),
                 "use the same Q/DQ pair for all consumers of a tensor");
  }
  if (quantizers.empty()) return;
  for (const Node* consumer : graph.view().consumers(value)) {
    const FusionKind kind = graph.kind(*consumer);
    if (kind != FusionKind::linear && kind != FusionKind::average_pool)
      continue;
    findings.add(
        "P13", *consumer,
        fmt::format("consumes '{}' as float, others as INT8", printable(value)),
        "use the same pair as input, and quantize its weight, too");
  }
}

void check_quantize(const LintGraph& graph, const Node& quantize,
                    Findings& findings) {
  const auto& consumers = graph.view().consumers(quantize.output(0));
  if (graph.is_output(quantize.output(0))) {
    findings.add("P18", quantize, "quantized values are a graph output",
                 "put DequantizeLinear after it, or output floats");
  } else if (consumers.empty()) {
    findings.add("P18", quantize, "quantized values have no consumer",
                 "remove it, or put DequantizeLinear after it");
  }
  const Node* producer = graph.view().producer(quantize.input(0));
  if (producer != nullptr && is_dequantize(*producer)) {
    const bool same = graph.same_qparams(*producer, quantize);
    findings.add("P19", quantize,
                 same ? "follows a DQ of the same scale"
                      : "follows a DQ of another scale: values are requantized",
                 same ? "remove both (lint --fix)"
                      : "use the same scale on both sides and remove the pair");
  }
}

void check_dequantize(const LintGraph& graph, const Node& dequantize,
                      Findings& findings) {
  const Node* quantize = graph.quantizer(dequantize);
  if (quantize == nullptr) {
    const Node* producer = graph.view().producer(dequantize.input(0));
    const bool computed =
        producer != nullptr && (producer->op_type().starts_with("QLinear") ||
                                producer->op_type().ends_with("Integer"));
    if (!graph.is_constant(dequantize.input(0)) && !computed) {
      findings.add("P18", dequantize, "input is neither from a Q nor constant",
                   "put QuantizeLinear before it");
    }
  } else if (graph.has_qparams(*quantize) && graph.has_qparams(dequantize) &&
             !graph.same_qparams(*quantize, dequantize)) {
    findings.add("P18", dequantize,
                 fmt::format("scale differs from that of '{}'",
                             printable(name_of(*quantize))),
                 "use the same scale and zero point for both");
  }
  if (graph.is_constant(dequantize.output(0))) return;
  if (graph.is_output(dequantize.output(0))) {
    findings.add("P16", dequantize, "a graph output is quantized",
                 "remove the pair before it (lint --fix)");
  }
  for (const Node* consumer : graph.view().consumers(dequantize.output(0))) {
    // merges.cpp checks the Sigmoid of a Swish.
    const auto& next = graph.view().consumers(
        consumer->output_size() > 0 ? consumer->output(0) : "");
    const FusionKind kind = graph.kind(*consumer);
    const bool gate = kind == FusionKind::gate && next.size() == 1 &&
                      graph.kind(*next[0]) == FusionKind::multiply;
    const bool floating =
        quant::is_never_int8(kind) || quant::is_function(kind);
    if (!floating || gate) continue;
    findings.add("P17", *consumer, "input is quantized",
                 "leave its input float: it runs in FP and the pair only "
                 "rounds");
  }
}

void check_padding(const LintGraph& graph, const Node& conv,
                   Findings& findings) {
  const Node* dequantize = graph.view().producer(conv.input(0));
  if (dequantize == nullptr || !is_dequantize(*dequantize)) return;
  const Node* quantize = graph.view().producer(dequantize->input(0));
  if (quantize == nullptr || !is_quantize(*quantize)) return;
  const Node* pad = graph.view().producer(quantize->input(0));
  if (pad == nullptr || !is_op(*pad, {"Pad"})) return;
  findings.add(
      "P20", *pad,
      fmt::format("Q/DQ between it and '{}'", printable(name_of(conv))),
      "put the pair before the Pad, which then fuses with the "
      "convolution");
}

// A single finding for the whole file.
void check_idle_pairs(const LintGraph& graph, Findings& findings) {
  std::vector<const Node*> idle;
  int64_t pairs = 0;
  for (const Node& node : graph.proto().node()) {
    if (!is_dequantize(node) || graph.is_constant(node.output(0))) continue;
    ++pairs;
    const auto& consumers = graph.view().consumers(node.output(0));
    if (graph.is_output(node.output(0)) ||
        std::ranges::none_of(consumers, [&](const Node* consumer) {
          return may_read_int8(graph, *consumer, findings.target());
        })) {
      idle.push_back(&node);
    }
  }
  if (idle.empty()) return;
  findings.add("P27",
               fmt::format("{} of {} pairs on activations have no INT8 "
                           "consumer, the first is '{}'",
                           idle.size(), pairs, printable(name_of(*idle[0]))),
               "remove them");
}

}  // namespace

void check_pairs(const LintGraph& graph, Findings& findings) {
  for (const auto& input : graph.view().inputs()) {
    check_readers(graph, input.name, findings);
  }
  for (const Node& node : graph.proto().node()) {
    if (is_quantize(node)) check_quantize(graph, node, findings);
    if (is_dequantize(node)) check_dequantize(graph, node, findings);
    if (is_convolution(node)) check_padding(graph, node, findings);
    check_pooling(graph, node, findings);
    for (const auto& output : node.output()) {
      if (!graph.is_constant(output)) check_readers(graph, output, findings);
    }
  }
  check_idle_pairs(graph, findings);
}

}  // namespace octet::io::lint
