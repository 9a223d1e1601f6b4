// Table of the rules and their severities.
//
// Sources: onnx-tensorrt's QuantDequantLinearHelper (10.1) and NvInfer.h (11.1)
// for rejected graphs; TensorRT's guide, "Working with quantized types", for
// placement; onnxruntime 1.31 and OpenVINO 2026.4 for their rules.
#include <algorithm>
#include <tuple>

#include <octet/runtime/error.h>

#include "rules.h"

namespace octet::io {
namespace {

// Severities: TensorRT 8, 10, 11, TensorRT-RTX, ONNX Runtime, OpenVINO.
constexpr LintRule kRules[] = {
    {"E01", "Q and DQ have a tensor and a scale as inputs", "EEEEEE"},
    {"E02", "quantized values are int8, not uint8 or int32", "EEEE--"},
    {"E03",
     "zero points are explicit: without one, values are uint8 in ONNX and "
     "int8 in TensorRT",
     "EEEWWW"},
    {"E04", "zero points are constant and 0", "EEEE--"},
    {"E05", "Q and DQ have one zero point for each scale", "EEEEEE"},
    {"E06", "scales are finite and > 0", "EEEEEE"},
    {"E07", "scales are constants", "EEEE--"},
    {"E08", "scales per channel have rank 1 and one entry for each channel",
     "EEEEEE"},
    {"E09",
     "scales per channel have an explicit axis: the default is 1 in ONNX "
     "and 0 in TensorRT",
     "EEEEII"},
    {"E10", "scales of a weight are along its output channels", "EEEWWW"},
    {"E11", "activations have a single scale", "EEEWWW"},
    {"E12", "quantized tensors have at least one axis", "EEEE--"},
    {"E13",
     "the opset supports all features of Q and DQ in use, and the target "
     "supports the opset",
     "EEEEEE"},
    {"E14", "output_dtype is the type of the zero point", "EEEEEE"},
    {"E15", "int4 is used for weights only, with an even last axis", "EEEEEE"},
    {"E16", "no operators on integers: use Q/DQ around float operators",
     "EEEE--"},
    {"E17", "biases are float32, without Q or DQ", "EEEI--"},
    {"E18", "between Q and DQ, operators only move quantized values", "EEEE--"},
    {"E19", "weights are float32, followed by Q and DQ", "E-----"},
    {"E20", "quantized weights are within [-127,127]", "WIII--"},
    {"E21", "weights of convolutions are constants", "EWII--"},
    {"E22", "inputs of a Concat before an INT8 convolution are uint8, not int8",
     "-----E"},
    {"P01", "data and weights of a layer are both quantized, or neither",
     "WWWWII"},
    {"P02", "no Q/DQ between a layer and its normalization", "WWWWII"},
    {"P03",
     "a BatchNormalization without a preceding layer has INT8 input before "
     "quantized layers",
     "IIII--"},
    {"P04",
     "if one branch of an Add is float, it is the output of a quantized layer",
     "WWWW--"},
    {"P05",
     "an Add with a quantized layer as branch does not quantize that branch",
     "WWWW--"},
    {"P06", "an Add between INT8 layers is INT8", "WWWWII"},
    {"P07", "if both branches of an Add are quantized layers, one has Q/DQ",
     "WWWW--"},
    {"P08", "the float branch of an Add has no other consumer", "WWWW--"},
    {"P09", "outputs of quantized layers are quantized", "IIIIII"},
    {"P10", "output and input of a MaxPool have the same scale", "WWWWWW"},
    {"P11", "average pooling between quantized layers has INT8 input",
     "WWWWII"},
    {"P12", "consumers of a tensor share a scale", "WWWWII"},
    {"P13", "consumers of a tensor are all quantized, or none", "WWWWII"},
    {"P14", "inputs of a Concat have its output's scale, or are float",
     "WWWWII"},
    {"P15", "a Mul quantizes both inputs, a Swish none of its inner values",
     "WWWW--"},
    {"P16", "outputs of the graph are float", "WWWWII"},
    {"P17", "Softmax, normalizations and unfused functions are float",
     "WWWWII"},
    {"P18",
     "every Q is followed by a DQ of the same scale, and every DQ is "
     "preceded by a Q or by quantized constants",
     "WWWWWW"},
    {"P19", "no Q directly after a DQ", "WWWWWW"},
    {"P20", "Q/DQ is before a Pad, not between it and the convolution",
     "WWWWII"},
    {"P21", "no Transpose of images before convolutions", "WWWWII"},
    {"P22", "branches of a quantized Add have the same shape", "IIII--"},
    {"P23", "channels of INT8 convolutions are multiples of 16", "IIII--"},
    {"P24", "convolutions with few channels are float", "IIII--"},
    {"P25", "products with few rows or columns are float", "IIII--"},
    {"P26", "grouped and transposed convolutions may be slower in INT8",
     "IIII--"},
    {"P27", "Q/DQ pairs without an INT8 kernel cost time", "IIIIII"},
    {"P28", "no Q/DQ between a layer and its activation", "WWWWII"},
    {"P29", "inputs of INT8 transposed convolutions have zero point 0",
     "-----W"},
    {"P30", "INT8 convolutions with 1x1 kernels have no strides", "-----I"},
    {"P31", "scales of activations are scalars, not of shape [1]", "IWWW--"},
    {"A01", "all scales are calibrated or trained", "WWWWWW"},
    {"A02", "weights of convolutions have scales per channel", "WWWWWW"},
    {"A03", "scales cover about the range of the values (with --data)",
     "WWWWWW"},
    {"A04", "no channel of a weight is all zero", "IIIIII"},
    {"A05", "non-negative values use only half of a symmetric range", "IIII-I"},
    {"A06", "the first and the last layer are the most sensitive", "IIIIII"},
    {"A07", "the error of each layer (with --data)", "IIIIII"},
    {"A08", "depthwise convolutions lose the most accuracy without training",
     "IIIIII"},
    {"D01", "how to build an engine", "IIII--"},
    {"D02", "data and weights of a layer have the same type", "-WEE--"},
    {"D03", "scales do not depend on a dynamic batch", "IIII--"},
    {"D04", "refitting an engine keeps equal scales equal", "IIII--"},
    {"D05", "plugins must implement INT8 themselves", "IIII--"},
    {"D06", "DLA does not support Q/DQ", "IIII--"},
    {"D07", "GPUs before Turing may lack INT8 kernels", "II----"},
    {"D08", "INT8 sums saturate on processors without VNNI", "-----I"},
    {"D09", "FP8 needs a GPU with FP8 kernels", "EIIIWW"},
};

LintSeverity severity_of(char letter) {
  switch (letter) {
    case 'E':
      return LintSeverity::error;
    case 'W':
      return LintSeverity::warning;
    default:
      return LintSeverity::info;
  }
}

}  // namespace

std::span<const LintRule> lint_rules() { return kRules; }

namespace lint {

bool is_tensorrt(Target target) {
  return target == Target::tensorrt8 || target == Target::tensorrt10 ||
         target == Target::tensorrt11 || target == Target::tensorrt_rtx;
}

void expect_runtime(Target target) {
  if (target != Target::any) return;
  throw ValueError("invalid_value", "lint target",
                   "must be a runtime, such as tensorrt10, got 'any'");
}

void Findings::add_named(std::string_view id, std::string node,
                         std::string hint, std::string reason) {
  const auto rule = std::ranges::find(kRules, id, &LintRule::id);
  if (rule == std::end(kRules)) {
    throw InternalError("internal", "lint",
                        "no rule '" + std::string(id) + "'");
  }
  const char letter = rule->severities[static_cast<size_t>(target_)];
  if (letter == '-') return;
  findings_.push_back({std::string(id), severity_of(letter), std::move(node),
                       std::move(reason), std::move(hint)});
}

std::vector<LintFinding> Findings::sorted() const {
  std::vector<LintFinding> result = findings_;
  std::ranges::stable_sort(result, [](const auto& a, const auto& b) {
    return std::tuple(b.severity, a.id) < std::tuple(a.severity, b.id);
  });
  return result;
}

}  // namespace lint
}  // namespace octet::io
