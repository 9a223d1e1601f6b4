// E02 to E14: Q and DQ nodes.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include <fmt/format.h>

#include "../proto_limits.h"
#include "../qdq.h"
#include "../tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

using Type = onnx::TensorProto;

bool has_zero_point(const Node& node) {
  return node.input_size() > 2 && !node.input(2).empty();
}

/// Returns the type of the quantized values.
int32_t code_type(const LintGraph& graph, const Node& node) {
  return graph.view().element_type(is_quantize(node) ? node.output(0)
                                                     : node.input(0));
}

// Whether the finding is reported for the Q of a DQ.
bool is_told(const LintGraph& graph, const Node& node) {
  return is_dequantize(node) && graph.quantizer(node) != nullptr;
}

// Whether a DQ dequantizes biases only (E17).
bool is_bias(const LintGraph& graph, const Node& dequantize) {
  const auto& consumers = graph.view().consumers(dequantize.output(0));
  return !consumers.empty() &&
         std::ranges::all_of(consumers, [&](const Node* consumer) {
           return is_weighted(*consumer) && consumer->input_size() > 2 &&
                  consumer->input(2) == dequantize.output(0);
         });
}

int64_t block_size(const Node& node) {
  const auto* attribute = find_attribute(node, "block_size");
  return attribute == nullptr ? 0 : attribute->i();
}

void check_type(const LintGraph& graph, const Node& node, Findings& findings) {
  const int32_t type = code_type(graph, node);
  if (is_dequantize(node) && type == Type::INT32) {
    // E17 is an error for other TensorRT, which reject int8 biases, too.
    const bool rtx = findings.target() == LintTarget::tensorrt_rtx;
    if (!rtx && is_bias(graph, node)) return;
    findings.add("E02", node, "quantized values are int32",
                 "replace it by Cast to float32 and Mul by the scale");
    return;
  }
  if (!has_zero_point(node)) {
    // Stored values have an explicit type.
    if (is_dequantize(node) && type == Type::INT8) return;
    if (find_attribute(node, "output_dtype") != nullptr) return;
    findings.add("E03", node, "no zero point",
                 "write an int8 zero point of 0 for each scale (lint --fix)");
    return;
  }
  if (is_told(graph, node)) return;
  if (type == Type::UINT8 || type == Type::UINT16 || type == Type::INT16) {
    findings.add(
        "E02", node, fmt::format("quantized values are {}", type_name(type)),
        type == Type::UINT8
            ? "quantize symmetrically to int8; uint8 with zero point "
              "128 equals int8 with 0 (lint --fix)"
            : "quantize the float model to int8: TensorRT has no INT16 "
              "layers");
  }
}

void check_zero_point(const LintGraph& graph, const Node& node,
                      Findings& findings) {
  if (!has_zero_point(node)) return;
  const auto zero_points = graph.numbers(node.input(2));
  if (!zero_points) {
    if (!graph.is_constant(node.input(2))) {
      findings.add("E04", node, "zero point is computed",
                   "make it an initializer of int8 zeros");
    }
    return;
  }
  const auto other =
      std::ranges::find_if(*zero_points, [](double z) { return z != 0; });
  const bool told = is_told(graph, node) &&
                    graph.zero_points(*graph.quantizer(node)) == zero_points;
  if (other != zero_points->end() && !told) {
    findings.add("E04", node,
                 fmt::format("zero point {} at index {}", *other,
                             other - zero_points->begin()),
                 "quantize symmetrically, with zero point 0");
  }
  const auto scales = graph.scales(node);
  if (scales && !scales->empty() && scales->size() != zero_points->size()) {
    findings.add("E05", node,
                 fmt::format("{} zero points for {} scales",
                             zero_points->size(), scales->size()),
                 "write one zero point for each scale (lint --fix)");
  }
}

void check_scales(const LintGraph& graph, const Node& node,
                  Findings& findings) {
  const auto scales = graph.scales(node);
  if (!scales) {
    if (!graph.is_constant(node.input(1))) {
      findings.add("E07", node, "scale is computed by the graph",
                   "export constant scales: calibrate, or freeze the ranges");
    }
    return;
  }
  if (is_told(graph, node) &&
      node.input(1) == graph.quantizer(node)->input(1)) {
    return;
  }
  if (scales->empty()) {
    findings.add("E06", node, "no scales", "add at least one");
    return;
  }
  int64_t wrong = 0, first = -1;
  for (size_t i = 0; i < scales->size(); ++i) {
    const double scale = (*scales)[i];
    if (std::isfinite(scale) && scale >= FLT_MIN) continue;
    if (wrong++ == 0) first = static_cast<int64_t>(i);
  }
  if (wrong == 0) return;
  findings.add(
      "E06", node,
      fmt::format("scale {} at index {}{}",
                  (*scales)[static_cast<size_t>(first)], first,
                  wrong > 1 ? fmt::format(", and {} more", wrong - 1) : ""),
      "a channel of zeros may have any scale > 0 (lint --fix); otherwise "
      "calibrate");
}

void check_axis(const LintGraph& graph, const Node& node, int64_t opset,
                Findings& findings) {
  const auto scale_dims = graph.view().dims(node.input(1));
  const auto dims = graph.view().dims(node.input(0));
  if (dims && dims->empty()) {
    findings.add("E12", node, "quantizes a scalar",
                 "leave scalars float, or give it an axis of size 1");
  }
  if (scale_dims == std::vector<int64_t>{1} && block_size(node) == 0 &&
      !graph.is_constant(node.input(0)) && !is_told(graph, node)) {
    findings.add("P31", node, "scale has shape [1]",
                 "make scale and zero point scalars (lint --fix)");
  }
  if (!scale_dims || graph.is_per_tensor(node) || block_size(node) != 0) return;
  if (opset < 13) {
    findings.add("E13", node,
                 fmt::format("scales per channel in opset {}", opset),
                 "export with opset 13");
  }
  const auto* attribute = find_attribute(node, "axis");
  if (attribute == nullptr) {
    findings.add("E09", node, "scales per channel without an axis",
                 "add the axis (lint --fix)");
  }
  if (scale_dims->size() > 1) {
    findings.add("E08", node,
                 fmt::format("scales have shape {}", dims_text(*scale_dims)),
                 "use scales of rank 1");
    return;
  }
  if (dims && !dims->empty()) {
    const auto rank = static_cast<int64_t>(dims->size());
    int64_t axis = attribute == nullptr ? 1 : attribute->i();
    if (axis < 0) axis += rank;
    const bool inside = axis >= 0 && axis < rank;
    const int64_t channels =
        inside ? (*dims)[static_cast<size_t>(axis)] : int64_t{-1};
    if (!inside) {
      findings.add("E08", node,
                   fmt::format("axis {} of a tensor of rank {}",
                               attribute == nullptr ? 1 : attribute->i(), rank),
                   "set the axis of the output channels");
    } else if (channels >= 0 && (*scale_dims)[0] >= 0 &&
               channels != (*scale_dims)[0]) {
      findings.add("E08", node,
                   fmt::format("{} scales for {} channels along axis {}",
                               (*scale_dims)[0], channels, axis),
                   attribute == nullptr
                       ? "set the axis of the output channels (lint --fix)"
                       : "write a scale for each channel");
    }
  }
  if (!graph.is_constant(node.input(0)) && !is_told(graph, node)) {
    findings.add("E11", node, "activation has scales per channel",
                 "quantize activations with a single scale");
  }
}

void check_versions(const LintGraph& graph, const Node& node, int64_t opset,
                    Findings& findings) {
  if (!is_standard_domain(node.domain())) return;
  const int32_t scale = graph.view().element_type(node.input(1));
  if ((scale == Type::FLOAT16 || scale == Type::BFLOAT16) && opset < 19) {
    findings.add(
        "E13", node,
        fmt::format("scales of {} in opset {}", type_name(scale), opset),
        "write float32 scales, or export with opset 19");
  }
  if (block_size(node) != 0 && opset < 21) {
    findings.add("E13", node, fmt::format("block_size in opset {}", opset),
                 "export with opset 21");
  }
  const auto* type = find_attribute(node, "output_dtype");
  if (type == nullptr || type->i() == 0 || !is_quantize(node) ||
      !has_zero_point(node)) {
    return;
  }
  const int32_t zero = graph.view().element_type(node.input(2));
  if (zero != 0 && zero != type->i()) {
    findings.add("E14", node,
                 fmt::format("output_dtype {} and a zero point of {}",
                             type_name(static_cast<int32_t>(type->i())),
                             type_name(zero)),
                 "give both the same type");
  }
}

// Returns the last opset that a TensorRT parser supports; 0: no limit.
int64_t last_opset(LintTarget target) {
  switch (target) {
    case LintTarget::tensorrt8:
      return 17;
    case LintTarget::tensorrt10:
      return 20;
    case LintTarget::tensorrt11:
    case LintTarget::tensorrt_rtx:
      return 25;
    case LintTarget::onnxruntime:
    case LintTarget::openvino:
      return 0;
  }
  return 0;
}

}  // namespace

void check_quantizers(const LintGraph& graph, int64_t opset,
                      Findings& findings) {
  const int64_t last = last_opset(findings.target());
  if (last != 0 && opset > last) {
    findings.add("E13",
                 fmt::format("opset is {}; {} supports up to {}", opset,
                             to_text(findings.target()), last),
                 "export with opset 13 to 17");
  }
  for (const Node& node : graph.proto().node()) {
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    check_type(graph, node, findings);
    check_zero_point(graph, node, findings);
    check_scales(graph, node, findings);
    check_axis(graph, node, opset, findings);
    check_versions(graph, node, opset, findings);
  }
}

}  // namespace octet::io::lint
