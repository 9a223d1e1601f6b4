// E02 to E14, P31: Q and DQ nodes.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include "onnx/check/proto_limits.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

using Type = onnx::TensorProto;

bool has_zero_point(const Node& node) { return !node.input(2).empty(); }

// Whether the finding is reported for the Q of a DQ.
bool is_told(const LintGraph& graph, const Node& node) {
  return is_dequantize(node) && graph.quantizer(node) != nullptr;
}

// Whether a DQ dequantizes biases only (E17).
bool is_bias(const LintGraph& graph, const Node& dequantize) {
  const auto consumers = graph.consumers(dequantize.output(0));
  return !consumers.empty() &&
         std::ranges::all_of(consumers, [&](const Node* consumer) {
           return is_weighted(*consumer) &&
                  consumer->input(2) == dequantize.output(0);
         });
}

void check_type(const LintGraph& graph, const Node& node, Findings& findings) {
  const int32_t type = graph.quantized_type(node);
  if (is_dequantize(node) && type == Type::INT32) {
    // E17 is an error for other TensorRT, which reject int8 biases, too.
    const bool rtx = findings.target() == Target::tensorrt_rtx;
    if (!rtx && is_bias(graph, node)) return;
    findings.add("E02", node,
                 "replace it by Cast to float32 and Mul by the scale",
                 "quantized values are int32");
    return;
  }
  if (!has_zero_point(node)) {
    // Stored values have an explicit type.
    if (is_dequantize(node) && type == Type::INT8) return;
    if (find_attribute(node, "output_dtype") != nullptr) return;
    findings.add("E03", node,
                 "write an int8 zero point of 0 for each scale (lint --fix)",
                 "no zero point");
    return;
  }
  if (is_told(graph, node)) return;
  if (type == Type::UINT8 || type == Type::UINT16 || type == Type::INT16) {
    findings.add("E02", node,
                 type == Type::UINT8
                     ? "quantize symmetrically to int8; uint8 with zero point "
                       "128 equals int8 with 0 (lint --fix)"
                     : "quantize the float model to int8: TensorRT has no "
                       "INT16 layers",
                 "quantized values are {}", type_name(type));
  }
}

void check_zero_point(const LintGraph& graph, const Node& node,
                      Findings& findings) {
  if (!has_zero_point(node)) return;
  const auto zero_points = graph.numbers(node.input(2));
  if (!zero_points) {
    if (!graph.is_constant(node.input(2))) {
      findings.add("E04", node, "make it an initializer of int8 zeros",
                   "zero point is computed");
    }
    return;
  }
  const auto other =
      std::ranges::find_if(*zero_points, [](double z) { return z != 0; });
  const bool told = is_told(graph, node) &&
                    graph.zero_points(*graph.quantizer(node)) == zero_points;
  if (other != zero_points->end() && !told) {
    findings.add("E04", node, "quantize symmetrically, with zero point 0",
                 "zero point {} at index {}", *other,
                 other - zero_points->begin());
  }
  const auto scales = graph.scales(node);
  if (scales && !scales->empty() && scales->size() != zero_points->size()) {
    findings.add(
        "E05", node, "write one zero point for each scale (lint --fix)",
        "{} zero points for {} scales", zero_points->size(), scales->size());
  }
}

void check_scales(const LintGraph& graph, const Node& node,
                  Findings& findings) {
  const auto scales = graph.scales(node);
  if (!scales) {
    if (!graph.is_constant(node.input(1))) {
      findings.add("E07", node,
                   "export constant scales: calibrate, or freeze the ranges",
                   "scale is computed by the graph");
    }
    return;
  }
  if (is_told(graph, node) &&
      node.input(1) == graph.quantizer(node)->input(1)) {
    return;
  }
  if (scales->empty()) {
    findings.add("E06", node, "add at least one", "no scales");
    return;
  }
  const auto is_wrong = [](double scale) {
    return !std::isfinite(scale) || scale < FLT_MIN;
  };
  const auto wrong = std::ranges::count_if(*scales, is_wrong);
  if (wrong == 0) return;
  const auto first = std::ranges::find_if(*scales, is_wrong);
  findings.add("E06", node,
               "a channel of zeros may have any scale > 0 (lint --fix); "
               "otherwise calibrate",
               "scale {} at index {}{}", *first, first - scales->begin(),
               wrong > 1 ? fmt::format(", and {} more", wrong - 1) : "");
}

void check_channels(const Node& node, const std::vector<int64_t>& dims,
                    int64_t scales, Findings& findings) {
  const bool has_axis = find_attribute(node, "axis") != nullptr;
  const int64_t axis = axis_of(node, dims.size());
  if (axis < 0 || axis >= std::ssize(dims)) {
    findings.add("E08", node, "set the axis of the output channels",
                 "axis {} of a tensor of rank {}", integer_of(node, "axis", 1),
                 dims.size());
    return;
  }
  const int64_t channels = dims[static_cast<size_t>(axis)];
  if (channels < 0 || scales < 0 || channels == scales) return;
  findings.add("E08", node,
               has_axis ? "write a scale for each channel"
                        : "set the axis of the output channels (lint --fix)",
               "{} scales for {} channels along axis {}", scales, channels,
               axis);
}

void check_axis(const LintGraph& graph, const Node& node, Findings& findings) {
  const auto scale_dims = graph.dims(node.input(1));
  const auto dims = graph.dims(node.input(0));
  const bool blocks = integer_of(node, "block_size", 0) != 0;
  const bool activation = !graph.is_constant(node.input(0));
  if (dims && dims->empty()) {
    findings.add("E12", node,
                 "leave scalars float, or give it an axis of size 1",
                 "quantizes a scalar");
  }
  if (scale_dims == std::vector<int64_t>{1} && !blocks && activation &&
      !is_told(graph, node)) {
    findings.add("P31", node, "make scale and zero point scalars (lint --fix)",
                 "scale has shape [1]");
  }
  if (!scale_dims || graph.is_per_tensor(node) || blocks) return;
  if (graph.opset() < 13) {
    findings.add("E13", node, "export with opset 13",
                 "scales per channel in opset {}", graph.opset());
  }
  if (find_attribute(node, "axis") == nullptr) {
    findings.add("E09", node, "add the axis (lint --fix)",
                 "scales per channel without an axis");
  }
  if (scale_dims->size() > 1) {
    findings.add("E08", node, "use scales of rank 1", "scales have shape {}",
                 dims_text(*scale_dims));
    return;
  }
  if (dims && !dims->empty()) {
    check_channels(node, *dims, (*scale_dims)[0], findings);
  }
  if (activation && !is_told(graph, node)) {
    findings.add("E11", node, "quantize activations with a single scale",
                 "activation has scales per channel");
  }
}

void check_versions(const LintGraph& graph, const Node& node,
                    Findings& findings) {
  if (!is_standard_domain(node.domain())) return;
  const int32_t scale = graph.element_type(node.input(1));
  if ((scale == Type::FLOAT16 || scale == Type::BFLOAT16) &&
      graph.opset() < 19) {
    findings.add("E13", node, "write float32 scales, or export with opset 19",
                 "scales of {} in opset {}", type_name(scale), graph.opset());
  }
  if (integer_of(node, "block_size", 0) != 0 && graph.opset() < 21) {
    findings.add("E13", node, "export with opset 21", "block_size in opset {}",
                 graph.opset());
  }
  const auto type = static_cast<int32_t>(integer_of(node, "output_dtype", 0));
  const int32_t zero = graph.element_type(node.input(2));
  if (type != 0 && is_quantize(node) && zero != 0 && zero != type) {
    findings.add("E14", node, "give both the same type",
                 "output_dtype {} and a zero point of {}", type_name(type),
                 type_name(zero));
  }
}

// Returns the last opset that a TensorRT parser supports; 0: no limit.
int64_t last_opset(Target target) {
  if (target == Target::tensorrt8) return 17;
  if (target == Target::tensorrt10) return 20;
  return is_tensorrt(target) ? 25 : 0;
}

}  // namespace

void check_quantizers(const LintGraph& graph, Findings& findings) {
  const int64_t last = last_opset(findings.target());
  if (last != 0 && graph.opset() > last) {
    findings.add("E13", "export with opset 13 to 17",
                 "opset is {}; {} supports up to {}", graph.opset(),
                 to_string(findings.target()), last);
  }
  for (const Node& node : graph.all_nodes()) {
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    check_type(graph, node, findings);
    check_zero_point(graph, node, findings);
    check_scales(graph, node, findings);
    check_axis(graph, node, findings);
    check_versions(graph, node, findings);
  }
}

}  // namespace octet::io::lint
