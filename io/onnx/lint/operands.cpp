// E10, E16 to E21: the inputs of Q/DQ and of quantized layers.
#include <algorithm>
#include <optional>

#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

// Returns the axis of a weight's output channels in the layer's layout; nothing
// if it has none.
std::optional<int64_t> channel_axis(const LintGraph& graph, const Node& layer) {
  if (is_op(layer, "Conv")) return 0;
  if (is_op(layer, "ConvTranspose")) return 1;
  const auto index = graph.weight_index(layer);
  if (!index) return std::nullopt;
  const bool first = *index == 0;
  if (is_op(layer, "Gemm")) {
    const bool transposed =
        integer_of(layer, first ? "transA" : "transB", 0) != 0;
    return first == transposed ? 1 : 0;
  }
  const auto dims = graph.dims(layer.input(*index));
  if (!dims || dims->size() < 2) return std::nullopt;
  return static_cast<int64_t>(dims->size()) - (first ? 2 : 1);
}

void check_weight_axis(const LintGraph& graph, const Node& layer,
                       const Node& dequantize, Findings& findings) {
  // If the weight is transposed between its DQ and the layer, its axes differ:
  // the target checks the result.
  if (graph.producer(layer.input(*graph.weight_index(layer))) != &dequantize) {
    return;
  }
  const auto expected = channel_axis(graph, layer);
  const auto dims = graph.dims(dequantize.input(0));
  if (graph.is_per_tensor(dequantize) || !expected || !dims || dims->empty() ||
      find_attribute(dequantize, "axis") == nullptr) {
    return;
  }
  const int64_t axis = axis_of(dequantize, dims->size());
  if (axis == *expected) return;
  findings.add("E10", dequantize,
               "calibrate the weight along its output channels",
               "scales along axis {} of the weight of {} '{}', whose output "
               "channels are axis {}",
               axis, layer.op_type(), layer, *expected);
}

// Number of values of -128 in a constant, quantized by Q or stored.
int64_t values_beyond_narrow(const LintGraph& graph, const Node& dequantize) {
  const Node* quantize = graph.quantizer(dequantize);
  if (quantize == nullptr) {
    const auto values = graph.numbers(dequantize.input(0));
    return !values ? 0 : std::ranges::count_if(*values, [](double v) {
      return v < -127;
    });
  }
  const auto weight = graph.quantized_constant(*quantize);
  int64_t count = 0;
  for (size_t i = 0; weight && i < weight->values.size(); ++i) {
    // Rounds half to even: -127.5 becomes -128.
    count += weight->values[i] / weight->scales[weight->scale_of(i)] <= -127.5;
  }
  return count;
}

void check_weight(const LintGraph& graph, const Node& layer,
                  Findings& findings) {
  const auto index = graph.weight_index(layer);
  if (index && is_convolution(layer) &&
      !graph.is_constant(layer.input(*index))) {
    findings.add("E21", layer,
                 "make the weight an initializer, followed by Q and DQ if it "
                 "is quantized",
                 "weight '{}' is computed from inputs", layer.input(*index));
    return;
  }
  const Node* dequantize = graph.weight_dequantizer(layer);
  if (dequantize == nullptr) return;
  check_weight_axis(graph, layer, *dequantize, findings);
  if (graph.quantizer(*dequantize) == nullptr) {
    findings.add("E19", *dequantize,
                 "store float32 before Q and DQ (lint --fix)",
                 "weight of '{}' is stored as int8", layer);
  }
  if (graph.quantized_type(*dequantize) != onnx::TensorProto::INT8) return;
  if (const int64_t count = values_beyond_narrow(graph, *dequantize)) {
    findings.add("E20", *dequantize,
                 "quantize weights to [-127,127] (lint --fix clips them)",
                 "{} values of the weight of '{}' are below -127", count,
                 layer);
  }
}

void check_bias(const LintGraph& graph, const Node& layer, Findings& findings) {
  const Node* producer = graph.producer(layer.input(2));
  if (is_op(layer, "MatMul") || producer == nullptr ||
      !is_dequantize(*producer)) {
    return;
  }
  findings.add("E17", *producer, "store the bias as float32 (lint --fix)",
               "bias of '{}' is quantized to {}", layer,
               graph.type(producer->input(0)));
}

// Operators on quantized values, of the standard and of ONNX Runtime.
bool is_integer_operator(const Node& node) {
  const std::string& op = node.op_type();
  return op.starts_with("QLinear") || op == "ConvInteger" ||
         op == "MatMulInteger" || op == "DynamicQuantizeLinear" ||
         op == "QGemm" || op == "QAttention" || op == "DynamicQuantizeMatMul";
}

void check_consumers(const LintGraph& graph, const Node& node,
                     Findings& findings) {
  for (const auto& output : node.output()) {
    for (const Node* consumer : graph.consumers(output)) {
      // Q consumes them as its zero point.
      if (is_quantize(*consumer) || is_dequantize(*consumer) ||
          graph.commutes(*consumer) || is_integer_operator(*consumer)) {
        continue;
      }
      findings.add("E18", *consumer, "put DequantizeLinear before it",
                   "{} computes with quantized values of '{}'",
                   consumer->op_type(), node);
    }
  }
}

}  // namespace

void check_operands(const LintGraph& graph, Findings& findings) {
  for (const Node& node : graph.all_nodes()) {
    if (is_integer_operator(node)) {
      findings.add("E16", node,
                   "replace it by a float operator between Q/DQ pairs "
                   "(quant_format=QDQ in onnxruntime.quantization)",
                   "{} computes with integers", node.op_type());
    }
    if (is_weighted(node)) {
      check_weight(graph, node, findings);
      check_bias(graph, node, findings);
    }
    const bool moves_quantized =
        graph.commutes(node) &&
        graph.element_type(node.output(0)) == onnx::TensorProto::INT8;
    if (is_quantize(node) || moves_quantized) {
      check_consumers(graph, node, findings);
    }
  }
}

}  // namespace octet::io::lint
