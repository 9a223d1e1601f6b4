// P10 to P13, P16 to P20, P27: Q/DQ pairs among themselves and around operators
// that move, pool or cannot be quantized.
#include <algorithm>

#include "onnx/graph/qdq.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

/// Whether a kernel may have INT8 input.
bool may_read_int8(const LintGraph& graph, const Node& node, Target target) {
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
      findings.add("P10", node, "use the scale of its input for its consumers",
                   "output is quantized with another scale than the input");
      break;
    }
  }
  if (average && before == nullptr && graph.is_quantized(node.output(0))) {
    findings.add("P11", node, "put Q/DQ at its input, too",
                 "input is float, output is quantized");
  }
}

void check_readers(const LintGraph& graph, const std::string& value,
                   Findings& findings) {
  const auto quantizers = graph.quantizers_of(value);
  for (size_t i = 1; i < quantizers.size(); ++i) {
    if (graph.same_qparams(*quantizers[0], *quantizers[i])) continue;
    findings.add("P12", *quantizers[i],
                 "use the same Q/DQ pair for all consumers of a tensor",
                 "'{}' has another scale in '{}'", value, *quantizers[0]);
  }
  if (quantizers.empty()) return;
  for (const Node* consumer : graph.consumers(value)) {
    const FusionKind kind = graph.kind(*consumer);
    if (kind != FusionKind::linear && kind != FusionKind::average_pool)
      continue;
    findings.add("P13", *consumer,
                 "use the same pair as input, and quantize its weight, too",
                 "consumes '{}' as float, others as INT8", value);
  }
}

void check_quantize(const LintGraph& graph, const Node& quantize,
                    Findings& findings) {
  const auto consumers = graph.consumers(quantize.output(0));
  if (graph.is_output(quantize.output(0))) {
    findings.add("P18", quantize,
                 "put DequantizeLinear after it, or output floats",
                 "quantized values are a graph output");
  } else if (consumers.empty()) {
    findings.add("P18", quantize, "remove it, or put DequantizeLinear after it",
                 "quantized values have no consumer");
  }
  const Node* producer = graph.producer(quantize.input(0));
  if (producer != nullptr && is_dequantize(*producer)) {
    const bool same = graph.same_qparams(*producer, quantize);
    findings.add(
        "P19", quantize,
        same ? "remove both (lint --fix)"
             : "use the same scale on both sides and remove the pair",
        "follows a DQ of {}",
        same ? "the same scale" : "another scale: values are requantized");
  }
}

void check_dequantize(const LintGraph& graph, const Node& dequantize,
                      Findings& findings) {
  const Node* quantize = graph.quantizer(dequantize);
  if (quantize == nullptr) {
    const Node* producer = graph.producer(dequantize.input(0));
    const bool computed =
        producer != nullptr && (producer->op_type().starts_with("QLinear") ||
                                producer->op_type().ends_with("Integer"));
    if (!graph.is_constant(dequantize.input(0)) && !computed) {
      findings.add("P18", dequantize, "put QuantizeLinear before it",
                   "input is neither from a Q nor constant");
    }
  } else if (graph.has_qparams(*quantize) && graph.has_qparams(dequantize) &&
             !graph.same_qparams(*quantize, dequantize)) {
    findings.add("P18", dequantize,
                 "use the same scale and zero point for both",
                 "scale differs from that of '{}'", *quantize);
  }
  if (graph.is_constant(dequantize.output(0))) return;
  if (graph.is_output(dequantize.output(0))) {
    findings.add("P16", dequantize, "remove the pair before it (lint --fix)",
                 "a graph output is quantized");
  }
  for (const Node* consumer : graph.consumers(dequantize.output(0))) {
    // merges.cpp checks the Sigmoid of a Swish.
    const auto& next =
        graph.consumers(consumer->output_size() > 0 ? consumer->output(0) : "");
    const FusionKind kind = graph.kind(*consumer);
    const bool gate = kind == FusionKind::gate && next.size() == 1 &&
                      graph.kind(*next[0]) == FusionKind::multiply;
    const bool floating =
        quant::is_never_int8(kind) || quant::is_function(kind);
    if (!floating || gate) continue;
    findings.add("P17", *consumer,
                 "leave its input float: it runs in FP and the pair only "
                 "rounds",
                 "input is quantized");
  }
}

void check_padding(const LintGraph& graph, const Node& conv,
                   Findings& findings) {
  const Node* dequantize = graph.producer(conv.input(0));
  if (dequantize == nullptr || !is_dequantize(*dequantize)) return;
  const Node* quantize = graph.producer(dequantize->input(0));
  if (quantize == nullptr || !is_quantize(*quantize)) return;
  const Node* pad = graph.producer(quantize->input(0));
  if (pad == nullptr || !is_op(*pad, {"Pad"})) return;
  findings.add("P20", *pad,
               "put the pair before the Pad, which then fuses with the "
               "convolution",
               "Q/DQ between it and '{}'", conv);
}

// A single finding for the whole file.
void check_idle_pairs(const LintGraph& graph, Findings& findings) {
  std::vector<const Node*> idle;
  int64_t pairs = 0;
  for (const Node& node : graph.all_nodes()) {
    if (!is_dequantize(node) || graph.is_constant(node.output(0))) continue;
    ++pairs;
    const auto consumers = graph.consumers(node.output(0));
    if (graph.is_output(node.output(0)) ||
        std::ranges::none_of(consumers, [&](const Node* consumer) {
          return may_read_int8(graph, *consumer, findings.target());
        })) {
      idle.push_back(&node);
    }
  }
  if (idle.empty()) return;
  findings.add("P27", "remove them",
               "{} of {} pairs on activations have no INT8 consumer, the first "
               "is '{}'",
               idle.size(), pairs, *idle[0]);
}

}  // namespace

void check_pairs(const LintGraph& graph, Findings& findings) {
  for (const auto& input : graph.inputs()) {
    check_readers(graph, input.name, findings);
  }
  for (const Node& node : graph.all_nodes()) {
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
