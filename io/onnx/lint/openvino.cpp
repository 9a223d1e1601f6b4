// E22, P29, P30, D08: rules for OpenVINO.
//
// Source: graphs compiled by OpenVINO 2024.6 and 2026.4 on x86, and their
// outputs compared with ONNX Runtime's.
#include <algorithm>

#include "onnx/export/graph_passes.h"
#include "onnx/graph/qdq.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

void check_openvino_concat(const LintGraph& graph, Findings& findings) {
  for (const ConcatPair& pair : int8_pairs_at_concat(graph)) {
    findings.add("E22", *pair.quantize,
                 "export uint8 values: --target openvino does, and int8 with "
                 "zero point 0 equals uint8 with 128 (lint --fix)",
                 "OpenVINO computes the convolution '{}' wrongly",
                 *pair.convolution);
  }
}

void check_openvino_convolution(const LintGraph& graph, const Node& node,
                                Findings& findings) {
  if (!graph.reads_int8(node)) return;
  if (is_computed_in_floats(graph, node)) {
    is_op(node, {"ConvTranspose"})
        ? findings.add("P29", node,
                       "quantize its input to int8, or to uint8 from 0",
                       "input has a zero point other than 0")
        : findings.add("P30", node,
                       "none: OpenVINO converts the strides to a pooling and "
                       "runs the convolution in floating point",
                       "1x1 kernel with strides");
  }
}

}  // namespace

bool is_computed_in_floats(const LintGraph& graph, const Node& node) {
  if (is_op(node, "ConvTranspose")) {
    const Node* dequantize = graph.dequantizer(node.input(0));
    return dequantize != nullptr && graph.zero_points(*dequantize) &&
           !graph.is_symmetric(*dequantize);
  }
  if (!is_op(node, {"Conv"})) return false;
  const auto strides = integers_of(node, "strides");
  const auto weights = graph.dims(node.input(1));
  return weights && weights->size() > 2 &&
         std::ranges::any_of(strides, [](auto s) { return s > 1; }) &&
         std::all_of(weights->begin() + 2, weights->end(),
                     [](int64_t size) { return size == 1; });
}

void check_openvino(const LintGraph& graph, Findings& findings) {
  if (findings.target() != Target::openvino) return;
  check_openvino_concat(graph, findings);
  bool quantized = false;
  for (const Node& node : graph.all_nodes()) {
    if (node.output_size() == 0) continue;
    if (is_convolution(node)) check_openvino_convolution(graph, node, findings);
    quantized = quantized || is_quantize(node);
  }
  if (!quantized) return;
  findings.add("D08",
               "on processors without VNNI, check the outputs: sums of two "
               "products saturate at 16 bits",
               "the file has INT8 layers");
}

}  // namespace octet::io::lint
