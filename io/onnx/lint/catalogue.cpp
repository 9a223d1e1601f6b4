// Table of the rules and their severities.
//
// Sources: onnx-tensorrt's QuantDequantLinearHelper (10.1) and NvInfer.h (11.1)
// for rejected graphs; TensorRT's guide, "Working with quantized types", for
// placement; onnxruntime 1.31 and OpenVINO 2026.4 for their rules. io/README.md
// lists the TensorRT issues behind rules.
#include <algorithm>
#include <tuple>

#include <octet/runtime/error.h>

#include "rules.h"

namespace octet::io {
namespace {

// Severities: TensorRT 8, 10, 11, ONNX Runtime, OpenVINO.
constexpr LintRule kRules[] = {
    {"E01", "Q and DQ have a tensor and a scale as inputs", "EEEEE"},
    {"E02", "quantized values are int8, not uint8 or int32", "EEE--"},
    {"E03",
     "zero points are explicit: without one, values are uint8 in ONNX and "
     "int8 in TensorRT",
     "EEEWW"},
    {"E04", "zero points are constant and 0", "EEE--"},
    {"E05", "Q and DQ have one zero point for each scale", "EEEEE"},
    {"E06", "scales are finite and > 0", "EEEEE"},
    {"E07", "scales are constants", "EEE--"},
    {"E08", "scales per channel have rank 1 and one entry for each channel",
     "EEEEE"},
    {"E09",
     "scales per channel have an explicit axis: the default is 1 in ONNX "
     "and 0 in TensorRT",
     "EEEII"},
    {"E10", "scales of a weight are along its output channels", "EEEWW"},
    {"E11", "activations have a single scale", "EEEWW"},
    {"E12", "quantized tensors have at least one axis", "EEE--"},
    {"E13",
     "the opset supports all features of Q and DQ in use, and the target "
     "supports the opset",
     "EEEEE"},
    {"E14", "output_dtype is the type of the zero point", "EEEEE"},
    {"E15", "int4 is used for weights only, with an even last axis", "EEEEE"},
    {"E16", "no operators on integers: use Q/DQ around float operators",
     "EEE--"},
    {"E17", "biases are float32, without Q or DQ", "EEE--"},
    {"E18", "between Q and DQ, operators only move quantized values", "EEE--"},
    {"E19", "weights are float32, followed by Q and DQ", "E----"},
    {"E20", "quantized weights are within [-127,127]", "WII--"},
    {"E21", "weights of convolutions are constants", "EWI--"},
    {"E22", "inputs of a Concat before an INT8 convolution are uint8, not int8",
     "----E"},
    {"P01", "data and weights of a layer are both quantized, or neither",
     "WWWII"},
    {"P02", "no Q/DQ between a layer and its normalization", "WWWII"},
    {"P03",
     "a BatchNormalization without a preceding layer has INT8 input before "
     "quantized layers",
     "III--"},
    {"P04",
     "if one branch of an Add is float, it is the output of a convolution",
     "WWW--"},
    {"P05", "an Add with a convolution as branch does not quantize that branch",
     "WWW--"},
    {"P06", "an Add between INT8 layers is INT8", "WWWII"},
    {"P07", "if both branches of an Add are convolutions, one is quantized",
     "WWW--"},
    {"P08", "the float branch of an Add has no other consumer", "WWW--"},
    {"P09", "outputs of quantized layers are quantized", "IIIII"},
    {"P10", "output and input of a MaxPool have the same scale", "WWWWW"},
    {"P11", "average pooling between quantized layers has INT8 input", "WWWII"},
    {"P12", "consumers of a tensor share a scale", "WWWII"},
    {"P13", "consumers of a tensor are all quantized, or none", "WWWII"},
    {"P14", "inputs of a Concat have its output's scale, or are float",
     "WWWII"},
    {"P15", "a Mul quantizes both inputs, a Swish none of its inner values",
     "WWW--"},
    {"P16", "outputs of the graph are float", "WWWII"},
    {"P17", "Softmax, normalizations and unfused functions are float", "WWWII"},
    {"P18",
     "every Q is followed by a DQ of the same scale, and every DQ is "
     "preceded by a Q or by quantized constants",
     "WWWWW"},
    {"P19", "no Q directly after a DQ", "WWWWW"},
    {"P20", "Q/DQ is before a Pad, not between it and the convolution",
     "WWWII"},
    {"P21", "no Transpose of images before convolutions", "WWWII"},
    {"P22", "branches of a quantized Add have the same shape", "III--"},
    {"P23", "channels of INT8 convolutions are multiples of 16", "III--"},
    {"P24", "convolutions with few channels are float", "III--"},
    {"P25", "products with few rows or columns are float", "III--"},
    {"P26", "grouped and transposed convolutions may be slower in INT8",
     "III--"},
    {"P27", "Q/DQ pairs without an INT8 kernel cost time", "IIIII"},
    {"P28", "no Q/DQ between a layer and its activation", "WWWII"},
    {"P29", "inputs of INT8 transposed convolutions have zero point 0",
     "----W"},
    {"P30", "INT8 convolutions with 1x1 kernels have no strides", "----I"},
    {"A01", "all scales are calibrated or trained", "WWWWW"},
    {"A02", "weights of convolutions have scales per channel", "WWWWW"},
    {"A03", "scales cover about the range of the values (with --data)",
     "WWWWW"},
    {"A04", "no channel of a weight is all zero", "IIIII"},
    {"A05", "non-negative values use only half of a symmetric range", "III-I"},
    {"A06", "the first and the last layer are the most sensitive", "IIIII"},
    {"A07", "the error of each layer (with --data)", "IIIII"},
    {"A08", "depthwise convolutions lose the most accuracy without training",
     "IIIII"},
    {"D01", "how to build an engine", "III--"},
    {"D02", "scales have the type of their data", "-WE--"},
    {"D03", "scales do not depend on a dynamic batch", "III--"},
    {"D04", "refitting an engine keeps equal scales equal", "III--"},
    {"D05", "plugins must implement INT8 themselves", "III--"},
    {"D06", "DLA does not support Q/DQ", "III--"},
    {"D07", "GPUs before Turing may lack INT8 kernels", "II---"},
    {"D08", "INT8 sums saturate on processors without VNNI", "----I"},
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

bool is_tensorrt(LintTarget target) {
  return target == LintTarget::tensorrt8 || target == LintTarget::tensorrt10 ||
         target == LintTarget::tensorrt11;
}

void Findings::add(std::string_view id, const Node& node, std::string reason,
                   std::string hint) {
  add(id, name_of(node), std::move(reason), std::move(hint));
}

void Findings::add(std::string_view id, std::string reason, std::string hint) {
  add(id, std::string(), std::move(reason), std::move(hint));
}

void Findings::add(std::string_view id, std::string node, std::string reason,
                   std::string hint) {
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
