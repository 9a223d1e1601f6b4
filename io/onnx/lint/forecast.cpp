// Forecast of the layers that run in INT8 and of the nodes in their kernels.
//
// Source: TensorRT's guide, "Q/DQ fusion": DQ -> layer -> Q is INT8 in and out,
// DQ -> layer INT8 in and FP out, and a residual Add fuses where its other
// branch is INT8. ONNX Runtime: qdq_selectors.cc and observed behavior of
// version 1.31.
#include <algorithm>

#include <fmt/format.h>

#include "onnx/export/export.h"
#include "onnx/graph/opsets.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

void set_nodes(Kernel& kernel, std::vector<const Node*> nodes) {
  kernel.nodes = std::move(nodes);
  kernel.group.clear();
  for (const Node* node : kernel.nodes) {
    if (!kernel.group.empty()) kernel.group += " + ";
    kernel.group += printable(node->op_type());
  }
}

/// Returns why a value is in floating point, by its consumers.
std::string why_float(const LintGraph& graph, const std::string& value) {
  if (graph.is_output(value)) return "it is a graph output";
  for (const Node* consumer : graph.consumers(value)) {
    if (is_quantize(*consumer)) continue;
    if (graph.commutes(*consumer)) {
      if (graph.is_quantized(consumer->output(0))) continue;
      if (graph.is_output(consumer->output(0))) return "it is a graph output";
    }
    return fmt::format("{} '{}' consumes it without Q",
                       printable(consumer->op_type()),
                       printable(name_of(*consumer)));
  }
  return "it has no consumer";
}

class Forecaster {
 public:
  Forecaster(const LintGraph& graph, Target target)
      : graph_(graph), target_(target) {}

  Kernel of(const Node& node) const {
    Kernel layer{{name_of(node), node.op_type(), {}, "", "", false}, &node, {}};
    const Node* head = is_weighted(node) ? &node : graph_.fused_with(node);
    if (target_ == Target::onnxruntime) {
      in_onnxruntime(node, layer);
    } else if (head != nullptr) {
      weighted(*head, layer);
    } else {
      set_nodes(layer, {&node});
      is_op(node, {"MaxPool", "GlobalMaxPool"}) ? moved(node, layer)
                                                : computed(node, layer);
    }
    mark_fp8(head != nullptr ? *head : node, layer);
    return layer;
  }

 private:
  bool int8(const std::string& value) const {
    const Node* dequantize = graph_.dequantizer(value);
    return dequantize != nullptr && graph_.scales(*dequantize).has_value() &&
           wide_type(*dequantize).empty();
  }

  bool is_fp8(const std::string& value) const {
    const Node* dequantize = graph_.dequantizer(value);
    return dequantize != nullptr &&
           graph_.quantized_type(*dequantize) == kFloat8E4M3FN;
  }

  /// Returns "int16", "uint16" or, for targets without FP8 kernels,
  /// "float8e4m3fn" for dequantizers of these, otherwise "".
  std::string wide_type(const Node& dequantize) const {
    const int32_t type = graph_.quantized_type(dequantize);
    return type == onnx::TensorProto::INT16 ||
                   type == onnx::TensorProto::UINT16 ||
                   (type == kFloat8E4M3FN && !takes_float8(target_))
               ? type_name(type)
               : "";
  }

  // Marks a layer with quantized inputs as FP8 if they are.
  void mark_fp8(const Node& node, LayerForecast& layer) const {
    if (layer.precision == LayerPrecision::floating) return;
    layer.fp8 = std::ranges::any_of(
        node.proto.input(),
        [&](const std::string& input) { return is_fp8(input); });
  }

  static void set(LayerForecast& layer, LayerPrecision precision,
                  std::string reason) {
    layer.precision = precision;
    layer.reason = std::move(reason);
  }

  void finish(LayerForecast& layer, const std::string& output) const {
    if (graph_.is_quantized(output)) {
      set(layer, LayerPrecision::int8, "");
    } else {
      set(layer, LayerPrecision::int8_to_float, why_float(graph_, output));
    }
  }

  // Whether all inputs are INT8; otherwise sets the reason.
  bool reads_int8(const Node& node, LayerForecast& layer) const {
    int quantized = 0, all = 0;
    std::string wide;
    const int read = is_weighted(node) ? 2 : node.input_size();
    for (int i = 0; i < std::min(read, node.input_size()); ++i) {
      if (node.input(i).empty()) continue;
      ++all;
      if (int8(node.input(i))) ++quantized;
      const Node* dequantize = graph_.dequantizer(node.input(i));
      if (dequantize != nullptr && wide.empty()) wide = wide_type(*dequantize);
    }
    if (all > 0 && quantized == all) return true;
    if (!wide.empty()) {
      set(layer, LayerPrecision::floating,
          fmt::format("quantized values are {}", wide));
      return false;
    }
    set(layer, LayerPrecision::floating,
        quantized == 0
            ? "inputs are float"
            : fmt::format("{} of {} inputs are float", all - quantized, all));
    return false;
  }

  void weighted(const Node& head, Kernel& layer) const {
    const Fusion& fusion = graph_.fusion(head);
    set_nodes(layer, fusion.nodes);
    if (!reads_int8(head, layer)) return;
    if (const char* reason = why_no_kernel(graph_, head, target_)) {
      return set(layer, LayerPrecision::floating, reason);
    }
    if (target_ == Target::openvino && is_computed_in_floats(graph_, head)) {
      return set(layer, LayerPrecision::floating,
                 is_op(head, {"ConvTranspose"})
                     ? "its zero point is not 0"
                     : "it has a 1x1 kernel and strides");
    }
    for (const Node* node : fusion.nodes) {
      if (graph_.kind(*node) != FusionKind::add) continue;
      for (const auto& input : node->input()) {
        const Node* producer = graph_.producer(input);
        const bool own =
            std::ranges::find(fusion.nodes, producer) != fusion.nodes.end();
        if (own || graph_.is_constant(input) || int8(input)) continue;
        return set(layer, LayerPrecision::int8_to_float,
                   fmt::format("other branch of '{}' is float",
                               printable(name_of(*node))));
      }
    }
    finish(layer, fusion.output);
  }

  void computed(const Node& node, LayerForecast& layer) const {
    if (const char* reason = why_no_kernel(graph_, node, target_)) {
      return set(layer, LayerPrecision::floating, reason);
    }
    if (reads_int8(node, layer)) finish(layer, node.output(0));
  }

  // Operators that commute with quantization use INT8 from either side.
  void moved(const Node& node, LayerForecast& layer) const {
    const bool before = int8(node.input(0));
    if (before || graph_.is_quantized(node.output(0))) {
      set(layer, LayerPrecision::int8, "");
    } else {
      set(layer, LayerPrecision::floating, "input is float");
    }
  }

  /// Returns the DQ directly before a value, or null: ONNX Runtime requires
  /// direct neighbors.
  const Node* next_dequantizer(const std::string& value) const {
    const Node* producer = graph_.producer(value);
    return producer != nullptr && is_dequantize(*producer) ? producer : nullptr;
  }

  int32_t code_type(const Node& node) const {
    return graph_.element_type(next_dequantizer(node.input(0))->input(0));
  }

  // Q absorbs a Relu or Clip if its range begins at 0.
  bool absorbs_relu(const Node& quantize) const {
    const auto zero = graph_.zero_points(quantize);
    const bool uint8 =
        graph_.quantized_type(quantize) == onnx::TensorProto::UINT8;
    return zero && zero->size() == 1 && zero->front() == (uint8 ? 0.0 : -128.0);
  }

  void in_onnxruntime(const Node& node, Kernel& layer) const {
    set_nodes(layer, {&node});
    for (int i = 0; i < node.input_size(); ++i) {
      if (node.input(i).empty()) continue;
      const bool bias = is_weighted(node) && i == 2;
      if (bias && graph_.tensor(node.input(i)) != nullptr) continue;
      if (next_dequantizer(node.input(i)) == nullptr) {
        return set(layer, LayerPrecision::floating,
                   fmt::format("input {} has no DQ directly before it", i));
      }
      const std::string wide = wide_type(*next_dequantizer(node.input(i)));
      if (!wide.empty()) {
        return set(layer, LayerPrecision::floating,
                   fmt::format("quantized values are {}", wide));
      }
    }
    if (is_op(node, {"ConvTranspose"})) {
      return set(layer, LayerPrecision::floating, "no integer kernel exists");
    }
    if (is_op(node, {"Conv", "Add"}) &&
        code_type(node) == onnx::TensorProto::INT8) {
      return set(layer, LayerPrecision::floating,
                 "quantized values are int8, but x86 kernels require uint8; "
                 "ONNX Runtime converts some of them");
    }
    const Node* consumer = graph_.only_consumer(node.output(0));
    const Node* relu = nullptr;
    if (consumer != nullptr && is_op(*consumer, {"Relu", "Clip"})) {
      relu = consumer;
      consumer = graph_.only_consumer(relu->output(0));
    }
    const bool quantized = consumer != nullptr && is_quantize(*consumer);
    if (quantized && (relu == nullptr || absorbs_relu(*consumer))) {
      if (relu != nullptr) set_nodes(layer, {&node, relu});
      return set(layer, LayerPrecision::int8, "");
    }
    const std::string reason =
        quantized ? fmt::format(
                        "Q absorbs '{}' only with zero point 0 of uint8 or "
                        "-128 of int8",
                        printable(name_of(*relu)))
                  : why_float(graph_, node.output(0));
    set(layer,
        is_op(node, {"MatMul", "Gemm"}) ? LayerPrecision::int8_to_float
                                        : LayerPrecision::floating,
        reason);
  }

  const LintGraph& graph_;
  Target target_;
};

bool is_forecast(const LintGraph& graph, const Node& node) {
  if (node.output_size() == 0 || graph.is_constant(node.output(0))) {
    return false;
  }
  const FusionKind kind = graph.kind(node);
  return kind == FusionKind::linear || kind == FusionKind::add ||
         kind == FusionKind::average_pool ||
         is_op(node, {"MaxPool", "GlobalMaxPool"});
}

}  // namespace

// Source: engines of TensorRT-RTX 1.7.1.
const char* why_no_kernel(const LintGraph& graph, const Node& node,
                          Target target) {
  const Node* dequantize = graph.dequantizer(node.input(0));
  if (is_op(node, {"ConvTranspose"}) && dequantize != nullptr &&
      graph.quantized_type(*dequantize) == kFloat8E4M3FN) {
    return "no FP8 kernel exists";
  }
  if (target != Target::tensorrt_rtx) return nullptr;
  if (is_op(node, {"ConvTranspose"}) ||
      graph.kind(node) == FusionKind::average_pool) {
    return "no INT8 kernel exists";
  }
  const bool listed =
      is_op(node, {"Conv"}) && dequantize != nullptr &&
      graph.dims(dequantize->input(1)) == std::vector<int64_t>{1};
  return listed ? "scale of its data has shape [1]" : nullptr;
}

std::vector<Kernel> kernels(const LintGraph& graph, Target target) {
  expect_runtime(target);
  const Forecaster forecaster(graph, target);
  std::vector<Kernel> result;
  for (const Node& node : graph.all_nodes()) {
    if (is_forecast(graph, node)) result.push_back(forecaster.of(node));
  }
  return result;
}

std::vector<LayerForecast> forecast(const LintGraph& graph, Target target) {
  const std::vector<Kernel> all = kernels(graph, target);
  return {all.begin(), all.end()};
}

}  // namespace octet::io::lint
