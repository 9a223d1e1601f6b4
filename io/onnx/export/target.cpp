#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/onnx.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "export.h"
#include "onnx/graph/opsets.h"

namespace octet::io {
namespace {

constexpr int64_t kLargestBatch = int64_t{1} << 20;

struct TargetTraits {
  Target target;
  std::string_view name;
  std::string_view title;  // in messages
  int last_opset;
  bool int8_weights;  // whether an int8 initializer may feed DequantizeLinear
  bool float8;        // whether Q and DQ of float8e4m3fn are supported
};

// ONNX Runtime 1.31 fuses float8 pairs to integer operators, which then reject
// them; it runs such files with ORT_ENABLE_BASIC.
// Source of TensorRT's opsets: onnx-tensorrt, docs/operators.md of 8.4-GA to
// 10.1-GA. Source of its weights: TensorRT's guide, "Explicit Quantization".
constexpr std::array<TargetTraits, 7> kTargets = {{
    {Target::any, "any", "'any'", kLastOpsetWritten, true, true},
    {Target::tensorrt8, "tensorrt8", "TensorRT 8", 17, false, false},
    {Target::tensorrt10, "tensorrt10", "TensorRT 10", 20, true, true},
    {Target::tensorrt11, "tensorrt11", "TensorRT 11", kLastOpsetWritten, true,
     true},
    {Target::tensorrt_rtx, "tensorrt_rtx", "TensorRT for RTX",
     kLastOpsetWritten, true, true},
    {Target::openvino, "openvino", "OpenVINO", kLastOpsetWritten, true, false},
    {Target::onnxruntime, "onnxruntime", "ONNX Runtime", kLastOpsetWritten,
     true, false},
}};

const TargetTraits& traits_of(Target target) {
  const auto found = std::ranges::find(kTargets, target, &TargetTraits::target);
  if (found == kTargets.end()) {
    throw ValueError(
        "invalid_value", "target",
        fmt::format("is no value of Target: {}", static_cast<int>(target)));
  }
  return *found;
}

}  // namespace

bool takes_uint8(Target target) {
  return target == Target::openvino || target == Target::onnxruntime;
}

bool takes_float8(Target target) { return traits_of(target).float8; }

bool takes_int16(Target target) {
  return target == Target::any || target == Target::onnxruntime;
}

std::string title_of(Target target) {
  return std::string(traits_of(target).title);
}

std::string_view to_string(Target target) { return traits_of(target).name; }

Target target_named(std::string_view name) {
  std::vector<std::string> names;
  for (const TargetTraits& known : kTargets) {
    if (known.name == name) return known.target;
    names.emplace_back(known.name);
  }
  throw ValueError(
      "invalid_value", "target",
      fmt::format("must be {}, got '{}'{}", fmt::join(names, " or "), name,
                  suggest_near(name, names)));
}

OnnxExportOptions OnnxExportOptions::for_target(Target target) {
  OnnxExportOptions options;
  options.target = target;
  if (target != Target::any && traits_of(target).int8_weights) {
    options.weights = OnnxWeights::int8;
  }
  options.fold_batch_norm = target == Target::onnxruntime;
  options.uint8_activations = target == Target::onnxruntime;
  return options;
}

void OnnxExportOptions::check() const {
  if (opset != 0) check_opset(opset);
  if (batch < 0 || batch > kLargestBatch) {
    throw ValueError("out_of_range", "ONNX batch",
                     fmt::format("size must be from 1 to {}, or 0 for a "
                                 "dynamic batch, got {}",
                                 kLargestBatch, batch));
  }
  const TargetTraits& known = traits_of(target);
  if (opset > known.last_opset) {
    throw ValueError("out_of_range", "ONNX opset",
                     fmt::format("must be at most {} for {}, got {}",
                                 known.last_opset, known.title, opset));
  }
  if (uint8_activations && !takes_uint8(target)) {
    throw ValueError(
        "conflicting_options", "ONNX activations",
        fmt::format("must be int8 for {}, got uint8", known.title));
  }
  if (weights == OnnxWeights::int8 && !known.int8_weights) {
    throw ValueError("conflicting_options", "ONNX weights",
                     fmt::format("must be float32 for {}, which rejects int8 "
                                 "constants, got int8",
                                 known.title));
  }
}

}  // namespace octet::io
