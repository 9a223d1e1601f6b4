// The rules in one table, and the severity of each for each target.
//
// Sources: onnx-tensorrt's QuantDequantLinearHelper (10.1) and NvInfer.h (11.1)
// for what is refused; TensorRT's guide, "Working with quantized types", for
// placement; onnxruntime 1.31 and OpenVINO 2026.4 for their own. TensorRT's
// issues are named in io/README.md where a rule comes from them.
#include <algorithm>
#include <tuple>

#include <octet/runtime/error.h>

#include "rules.h"

namespace octet::io {
namespace {

// Severities: TensorRT 8, 10, 11, ONNX Runtime, OpenVINO.
constexpr LintRule kRules[] = {
    {"E01", "a Q or DQ has a tensor and a scale", "EEEEE"},
    {"E02", "codes are int8, not uint8 or int32", "EEE--"},
    {"E03",
     "the zero point is written out: without it codes are uint8 to ONNX "
     "and int8 to TensorRT",
     "EEEWW"},
    {"E04", "zero points are constant and 0", "EEE--"},
    {"E05", "as many zero points as scales", "EEEEE"},
    {"E06", "scales are finite and > 0", "EEEEE"},
    {"E07", "scales are constants", "EEE--"},
    {"E08", "scales per channel are as many as channels, of rank 1", "EEEEE"},
    {"E09",
     "axis is written with scales per channel: without it it is 1 to "
     "ONNX and 0 to TensorRT",
     "EEEII"},
    {"E10", "scales of a weight lie along its output channels", "EEEWW"},
    {"E11", "activations have one scale", "EEEWW"},
    {"E12", "what is quantized has at least one axis", "EEE--"},
    {"E13", "the opset has what Q and DQ use, and the target reads it",
     "EEEEE"},
    {"E14", "output_dtype is the type of the zero point", "EEEEE"},
    {"E15", "int4 is for weights, with an even last size", "EEEEE"},
    {"E16", "no operators on integers: Q/DQ around float ones", "EEE--"},
    {"E17", "biases are float32, without Q or DQ", "EEE--"},
    {"E18", "codes go from Q to DQ, through what moves them only", "EEE--"},
    {"E19", "weights are float32 before Q and DQ", "E----"},
    {"E20", "codes of weights are within [-127,127]", "WII--"},
    {"E21", "weights of convolutions are constants", "EWI--"},
    {"E22",
     "what goes through a Concat into an INT8 convolution is uint8, not int8",
     "----E"},
    {"P01", "data and weights of a layer are both quantized, or neither",
     "WWWII"},
    {"P02", "no Q between a layer and its normalization", "WWWII"},
    {"P03",
     "a BatchNormalization without a layer before it, in front of "
     "quantized layers, reads INT8",
     "III--"},
    {"P04", "of an Add's branches one, made by a convolution, is float",
     "WWW--"},
    {"P05",
     "an Add whose branch comes from a convolution does not quantize "
     "that branch",
     "WWW--"},
    {"P06", "an Add among INT8 layers is INT8", "WWWII"},
    {"P07", "of two convolutions into one Add, one is quantized", "WWW--"},
    {"P08", "the float branch of an Add has no other reader", "WWW--"},
    {"P09", "what a quantized layer computes is read through Q", "IIIII"},
    {"P10", "MaxPool keeps its input's scale", "WWWWW"},
    {"P11", "average pooling between quantized layers reads INT8", "WWWII"},
    {"P12", "readers of one tensor share one scale", "WWWII"},
    {"P13", "readers of one tensor are quantized together", "WWWII"},
    {"P14", "inputs of a Concat share its output's scale, or are float",
     "WWWII"},
    {"P15", "a Mul quantizes both inputs, and a Swish none of its own",
     "WWW--"},
    {"P16", "outputs of the graph are float", "WWWII"},
    {"P17", "Softmax, normalizations and functions that stand alone are float",
     "WWWII"},
    {"P18",
     "every Q ends in a DQ of its scale, and every DQ begins in a Q or "
     "in constant codes",
     "WWWWW"},
    {"P19", "no DQ goes straight into a Q", "WWWWW"},
    {"P20", "Q comes before a Pad, not between it and the convolution",
     "WWWII"},
    {"P21", "no Transpose of images before convolutions", "WWWII"},
    {"P22", "the branches of a quantized Add have one shape", "III--"},
    {"P23", "channels of INT8 convolutions are multiples of 16", "III--"},
    {"P24", "convolutions of few channels are float", "III--"},
    {"P25", "products of few rows or columns are float", "III--"},
    {"P26", "grouped and transposed convolutions may be slower in INT8",
     "III--"},
    {"P27", "pairs that no INT8 kernel absorbs cost time", "IIIII"},
    {"P28", "no Q between a layer and its activation", "WWWII"},
    {"P29", "INT8 transposed convolutions read zero points of 0", "----W"},
    {"P30", "INT8 convolutions of 1x1 have no strides", "----I"},
    {"A01", "no scale is one that was never calibrated", "WWWWW"},
    {"A02", "weights of convolutions have scales per channel", "WWWWW"},
    {"A03", "scales reach about as far as values do (with --data)", "WWWWW"},
    {"A04", "no channel of a weight is all zero", "IIIII"},
    {"A05", "what cannot be negative uses half of a symmetric grid", "III-I"},
    {"A06", "the first and the last layer are the most sensitive", "IIIII"},
    {"A07", "the error of each layer (with --data)", "IIIII"},
    {"A08", "depthwise convolutions lose most without training", "IIIII"},
    {"D01", "how an engine is built", "III--"},
    {"D02", "scales are of their data's type", "-WE--"},
    {"D03", "a batch of any size: scales stay as they are", "III--"},
    {"D04", "an engine that is refitted keeps equal scales equal", "III--"},
    {"D05", "operators of a plugin take INT8 from the pairs around them",
     "III--"},
    {"D06", "DLA takes no Q/DQ", "III--"},
    {"D07", "GPUs before Turing may lack INT8 kernels", "II---"},
    {"D08", "processors without VNNI saturate INT8 sums", "----I"},
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
                   std::string cure) {
  add(id, name_of(node), std::move(reason), std::move(cure));
}

void Findings::add(std::string_view id, std::string reason, std::string cure) {
  add(id, std::string(), std::move(reason), std::move(cure));
}

void Findings::add(std::string_view id, std::string node, std::string reason,
                   std::string cure) {
  const auto rule = std::ranges::find(kRules, id, &LintRule::id);
  if (rule == std::end(kRules)) {
    throw InternalError("lint: no rule '" + std::string(id) + "'");
  }
  const char letter = rule->severities[static_cast<size_t>(target_)];
  if (letter == '-') return;
  findings_.push_back({std::string(id), severity_of(letter), std::move(node),
                       std::move(reason), std::move(cure)});
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
