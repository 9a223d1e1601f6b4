// D01 to D07: building and running an engine.
//
// Source: TensorRT's documents (migration 10 to 11, working with DLA, refit)
// and its issues 4021, 1912, 2222.
#include <algorithm>
#include <set>

#include "onnx/check/proto_limits.h"
#include "onnx/check/schemas.h"
#include "onnx/graph/opsets.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

const char* build_options(Target target) {
  switch (target) {
    case Target::tensorrt8:
      return "trtexec --onnx=FILE --int8 --fp16 --saveEngine=OUT";
    case Target::tensorrt10:
      return "trtexec --onnx=FILE --stronglyTyped --saveEngine=OUT, or --best "
             "to allow FP16 for the rest";
    case Target::tensorrt11:
      return "trtexec --onnx=FILE --saveEngine=OUT, without --int8 and --fp16, "
             "which it no longer has";
    case Target::tensorrt_rtx:
      return "tensorrt_rtx --onnx=FILE --saveEngine=OUT, on any machine: RTX "
             "GPUs compile its kernels when they load it";
    case Target::onnxruntime:
    case Target::openvino:
    case Target::any:
      return "";
  }
  return "";
}

// A DQ has the type of its scale, which may differ from the type of the data
// before its Q.
void check_types(const LintGraph& graph, const Node& layer,
                 Findings& findings) {
  if (layer.input_size() < 2) return;
  const int32_t first = graph.element_type(layer.input(0));
  const int32_t second = graph.element_type(layer.input(1));
  if (first == 0 || second == 0 || first == second) return;
  findings.add("D02", layer, "give the scales of both the same type",
               "inputs are {} and {}", type_name(first), type_name(second));
}

void check_plugin(const LintGraph& graph, const Node& node,
                  Findings& findings) {
  if (is_standard_domain(node.domain()) || is_quantize(node) ||
      is_dequantize(node) || node.domain() == kMicrosoftDomain) {
    return;
  }
  const bool reads = std::ranges::any_of(node.input(), [&](const auto& input) {
    return graph.dequantizer(input) != nullptr;
  });
  const bool writes = std::ranges::any_of(
      node.output(),
      [&](const auto& output) { return !graph.quantizers_of(output).empty(); });
  if (!reads && !writes) return;
  findings.add("D05", node, "a plugin for INT8 must fuse these pairs itself",
               "{}::{} is next to Q/DQ", node.domain(), node.op_type());
}

// Whether pairs of different tensors share a scale: an engine may merge them.
bool relies_on_equal_scales(const LintGraph& graph) {
  std::set<std::string> scales, tensors;
  for (const Node& node : graph.all_nodes()) {
    if (!is_quantize(node) || graph.is_constant(node.input(0))) continue;
    if (!tensors.insert(node.input(0)).second) continue;
    if (!scales.insert(node.input(1)).second) return true;
  }
  return false;
}

}  // namespace

void check_deployment(const LintGraph& graph, Findings& findings) {
  bool quantized = false, asymmetric = false, int8 = false;
  const Node* fp8 = nullptr;
  for (const Node& node : graph.all_nodes()) {
    check_plugin(graph, node, findings);
    if (is_weighted(node)) check_types(graph, node, findings);
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    quantized = true;
    if (graph.quantized_type(node) != kFloat8E4M3FN) {
      int8 = true;
    } else if (fp8 == nullptr) {
      fp8 = &node;
    }
    asymmetric =
        asymmetric || graph.quantized_type(node) == onnx::TensorProto::UINT8;
  }
  if (!quantized) return;
  findings.add("D01", build_options(findings.target()), "the file has Q/DQ");
  const auto inputs = graph.inputs();
  const bool open = std::ranges::any_of(inputs, [](const auto& input) {
    return input.shape && !input.shape->empty() &&
           std::holds_alternative<std::string>(input.shape->front());
  });
  if (open) {
    findings.add("D03",
                 "compare outputs at batch 1 and at your largest batch (octet "
                 "verify), and pass --minShapes, --optShapes and --maxShapes "
                 "to trtexec",
                 "the batch is dynamic");
  }
  if (relies_on_equal_scales(graph)) {
    findings.add("D04", "refit such scales together, or not at all",
                 "tensors share a scale");
  }
  findings.add("D06",
               "for DLA, convert scales to a calibration cache (NVIDIA's Q/DQ "
               "translator); DLA rounds half away from zero",
               "the file has {}",
               asymmetric ? "uint8 Q/DQ, which only DLA supports, by a flag of "
                            "the parser"
                          : "Q/DQ");
  if (fp8 != nullptr) {
    findings.add("D09", *fp8,
                 findings.target() == Target::onnxruntime
                     ? "load it with ORT_ENABLE_BASIC: further optimizations "
                       "of ONNX Runtime 1.31 fail; or quantize to int8"
                     : "run it on compute capability 8.9 (Ada) or newer, with "
                       "TensorRT 10 or newer; or quantize to int8",
                 "quantized values are {}", type_name(kFloat8E4M3FN));
  }
  if (!int8) return;
  findings.add("D07",
               "if a GPU before Turing has no implementation, remove the "
               "layer's Q/DQ",
               "the file has INT8 layers");
}

}  // namespace octet::io::lint
