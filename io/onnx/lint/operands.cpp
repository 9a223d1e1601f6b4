// E10, E16 to E21: the inputs of Q/DQ and of quantized layers.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "../qdq.h"
#include "../tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

using Type = onnx::TensorProto;

// Returns the axis of a weight's output channels in the layer's layout; nothing
// if it has none.
std::optional<int64_t> channel_axis(const LintGraph& graph, const Node& layer) {
  if (is_op(layer, {"Conv"})) return 0;
  if (is_op(layer, {"ConvTranspose"})) return 1;
  const auto index = graph.weight_index(layer);
  if (!index) return std::nullopt;
  const bool first = *index == 0;
  if (is_op(layer, {"Gemm"})) {
    const auto* flag = find_attribute(layer, first ? "transA" : "transB");
    const bool transposed = flag != nullptr && flag->i() != 0;
    return first == transposed ? 1 : 0;
  }
  const auto dims = graph.view().dims(layer.input(*index));
  if (!dims || dims->size() < 2) return std::nullopt;
  return static_cast<int64_t>(dims->size()) - (first ? 2 : 1);
}

void check_weight_axis(const LintGraph& graph, const Node& layer,
                       const Node& dequantize, Findings& findings) {
  // If the weight is transposed between its DQ and the layer, its axes differ:
  // the target checks the result.
  const auto index = graph.weight_index(layer);
  if (!index || graph.view().producer(layer.input(*index)) != &dequantize)
    return;
  const auto* axis = find_attribute(dequantize, "axis");
  const auto expected = channel_axis(graph, layer);
  const auto dims = graph.view().dims(dequantize.input(0));
  if (graph.is_per_tensor(dequantize) || axis == nullptr || !expected ||
      !dims || dims->empty()) {
    return;
  }
  const auto rank = static_cast<int64_t>(dims->size());
  const int64_t given = axis->i() < 0 ? axis->i() + rank : axis->i();
  if (given == *expected) return;
  findings.add(
      "E10", dequantize,
      fmt::format("scales along axis {} of the weight of {} '{}', "
                  "whose output channels are axis {}",
                  given, layer.op_type(), printable(name_of(layer)), *expected),
      "calibrate the weight along its output channels");
}

// Number of values of -128 in a constant, quantized by Q or stored.
int64_t codes_beyond_narrow(const LintGraph& graph, const Node& dequantize) {
  const Node* quantize = graph.quantizer(dequantize);
  const auto values = graph.numbers(quantize == nullptr ? dequantize.input(0)
                                                        : quantize->input(0));
  if (!values) return 0;
  if (quantize == nullptr) {
    return std::ranges::count_if(*values, [](double v) { return v < -127; });
  }
  const auto scales = graph.scales(*quantize);
  const auto dims = graph.view().dims(quantize->input(0));
  if (!scales || scales->empty() || !dims) return 0;
  size_t inner = 1;  // adjacent elements that share a scale
  if (scales->size() > 1) {
    const auto* attribute = find_attribute(*quantize, "axis");
    const auto rank = static_cast<int64_t>(dims->size());
    int64_t axis = attribute == nullptr ? 1 : attribute->i();
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank ||
        (*dims)[static_cast<size_t>(axis)] !=
            static_cast<int64_t>(scales->size())) {
      return 0;
    }
    for (int64_t d = axis + 1; d < rank; ++d) {
      inner *= static_cast<size_t>((*dims)[static_cast<size_t>(d)]);
    }
  }
  int64_t count = 0;
  for (size_t i = 0; i < values->size(); ++i) {
    const double scale =
        (*scales)[scales->size() == 1 ? 0 : i / inner % scales->size()];
    // Rounds half to even: -127.5 becomes -128.
    if ((*values)[i] / scale <= -127.5) ++count;
  }
  return count;
}

void check_weight(const LintGraph& graph, const Node& layer,
                  Findings& findings) {
  const auto index = graph.weight_index(layer);
  if (!index) return;
  const std::string& weight = layer.input(*index);
  if (is_convolution(layer) && !graph.is_constant(weight)) {
    findings.add(
        "E21", layer,
        fmt::format("weight '{}' is computed from inputs", printable(weight)),
        "make the weight an initializer, followed by Q and DQ if it is "
        "quantized");
    return;
  }
  const Node* dequantize = graph.dequantizer(weight);
  if (dequantize == nullptr || !graph.is_constant(weight)) return;
  check_weight_axis(graph, layer, *dequantize, findings);
  if (graph.quantizer(*dequantize) == nullptr) {
    findings.add("E19", *dequantize,
                 fmt::format("weight of '{}' is stored as int8",
                             printable(name_of(layer))),
                 "store float32 before Q and DQ (lint --fix)");
  }
  if (const int64_t count = codes_beyond_narrow(graph, *dequantize)) {
    findings.add("E20", *dequantize,
                 fmt::format("{} values of the weight of '{}' are below -127",
                             count, printable(name_of(layer))),
                 "quantize weights to [-127,127] (lint --fix clips them)");
  }
}

void check_bias(const LintGraph& graph, const Node& layer, Findings& findings) {
  if (layer.input_size() < 3 || is_op(layer, {"MatMul"})) return;
  const Node* producer = graph.view().producer(layer.input(2));
  if (producer == nullptr || !is_dequantize(*producer)) return;
  findings.add(
      "E17", *producer,
      fmt::format("bias of '{}' is quantized to {}", printable(name_of(layer)),
                  graph.view().type(producer->input(0))),
      "store the bias as float32 (lint --fix)");
}

// Operators on quantized values, of the standard and of ONNX Runtime.
bool is_integer_operator(const Node& node) {
  const std::string& op = node.op_type();
  return op.starts_with("QLinear") || op == "ConvInteger" ||
         op == "MatMulInteger" || op == "DynamicQuantizeLinear" ||
         op == "QGemm" || op == "QAttention" || op == "DynamicQuantizeMatMul";
}

void check_codes(const LintGraph& graph, const Node& node, Findings& findings) {
  for (const auto& output : node.output()) {
    for (const Node* consumer : graph.view().consumers(output)) {
      // Q consumes them as its zero point.
      if (is_quantize(*consumer) || is_dequantize(*consumer) ||
          graph.commutes(*consumer) || is_integer_operator(*consumer)) {
        continue;
      }
      findings.add(
          "E18", *consumer,
          fmt::format("{} computes with quantized values of '{}'",
                      printable(consumer->op_type()), printable(name_of(node))),
          "put DequantizeLinear before it");
    }
  }
}

}  // namespace

void check_operands(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.proto().node()) {
    if (is_integer_operator(node)) {
      findings.add(
          "E16", node,
          fmt::format("{} computes with integers", printable(node.op_type())),
          "replace it by a float operator between Q/DQ pairs "
          "(quant_format=QDQ in onnxruntime.quantization)");
    }
    if (is_weighted(node)) {
      check_weight(graph, node, findings);
      check_bias(graph, node, findings);
    }
    const bool moves_codes =
        graph.commutes(node) &&
        graph.view().element_type(node.output(0)) == Type::INT8;
    if (is_quantize(node) || moves_codes) check_codes(graph, node, findings);
  }
}

}  // namespace octet::io::lint
