#include "qdq.h"

#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "onnx/check/proto_limits.h"
#include "onnx/check/schemas.h"
#include "opsets.h"
#include "tensors.h"

namespace octet::io {
namespace {

constexpr int64_t kDefaultAxis = 1;  // QuantizeLinear-13

[[noreturn]] void refuse(const onnx::NodeProto& node, std::string problem) {
  throw FormatError("invalid_graph", describe(node), std::move(problem));
}

// Returns the axis along which blocks of elements share a scale. The scales
// have an entry for each block of that axis and for each index of the others.
std::optional<int64_t> block_axis(const onnx::NodeProto& node,
                                  const std::vector<int64_t>& scale_dims,
                                  int64_t block, const OnnxGraph& graph) {
  int64_t axis = integer_of(node, "axis", kDefaultAxis);
  const auto rank = static_cast<int64_t>(scale_dims.size());
  const auto dims = graph.dims(node.input(0));
  if (axis < 0) axis += rank;
  bool fits = block > 0 && axis >= 0 && axis < rank &&
              (!dims || dims->size() == scale_dims.size());
  for (size_t d = 0; fits && dims && d < dims->size(); ++d) {
    const int64_t size = (*dims)[d];
    const int64_t scales = static_cast<int64_t>(d) == axis && size >= 0
                               ? (size - 1) / block + 1
                               : size;
    fits = scales < 0 || scale_dims[d] < 0 || scale_dims[d] == scales;
  }
  if (!fits) {
    refuse(node, fmt::format("scales {} do not fit blocks of {} of {}",
                             dims_text(scale_dims), block,
                             to_string(graph.shape(node.input(0)))));
  }
  return axis;
}

// Returns the axis of the scales; nothing for a scale of the whole tensor,
// which some exporters write as [1].
std::optional<int64_t> channel_axis(const onnx::NodeProto& node,
                                    const std::vector<int64_t>& scale_dims,
                                    const OnnxGraph& graph) {
  if (scale_dims.empty()) return std::nullopt;
  if (const int64_t block = integer_of(node, "block_size", 0)) {
    return block_axis(node, scale_dims, block, graph);
  }
  if (scale_dims.size() > 1) {
    refuse(node, fmt::format("scale must have rank 0 or 1, got {}",
                             dims_text(scale_dims)));
  }
  int64_t axis = integer_of(node, "axis", kDefaultAxis);
  const auto dims = graph.dims(node.input(0));
  if (!dims) {
    // The axis cannot be checked without dimensions.
    return scale_dims[0] == 1 ? std::nullopt : std::optional(axis);
  }
  const int64_t rank = static_cast<int64_t>(dims->size());
  const bool in_range = axis >= -rank && axis < rank;
  if (axis < 0) axis += rank;
  const int64_t channels =
      in_range ? (*dims)[static_cast<size_t>(axis)] : int64_t{-1};
  if (scale_dims[0] == 1 && channels != 1) return std::nullopt;
  if (!in_range) {
    refuse(node, fmt::format("axis must be from {} to {} for {}, got {}", -rank,
                             rank - 1, to_string(graph.shape(node.input(0))),
                             integer_of(node, "axis", kDefaultAxis)));
  }
  if (scale_dims[0] >= 0 && channels >= 0 && scale_dims[0] != channels) {
    refuse(node,
           fmt::format("must have {} scales for axis {} of {}, got {}",
                       channels, axis, to_string(graph.shape(node.input(0))),
                       scale_dims[0]));
  }
  return axis;
}

std::vector<float> scales_of(const onnx::NodeProto& node,
                             const onnx::TensorProto& tensor) {
  if (!is_float(tensor)) {
    refuse(node, fmt::format("scales must be floats, got {}",
                             type_name(tensor.data_type())));
  }
  std::vector<float> scales = float_values(tensor);
  for (size_t i = 0; i < scales.size(); ++i) {
    if (!std::isfinite(scales[i]) || scales[i] <= 0) {
      refuse(node,
             fmt::format("scales must be finite and > 0, got {} at index {} of "
                         "'{}'",
                         scales[i], i, printable(node.input(1))));
    }
  }
  return scales;
}

void check_zero_point(const onnx::NodeProto& node,
                      const std::vector<int64_t>& scale_dims,
                      const OnnxGraph& graph) {
  if (node.input_size() < 3 || node.input(2).empty()) return;
  const auto dims = graph.dims(node.input(2));
  // A single number may be [] or [1]; ONNX Runtime's quantizer mixes both.
  const auto one = [](const std::vector<int64_t>& d) {
    return d.empty() || d == std::vector<int64_t>{1};
  };
  if (dims && *dims != scale_dims && !(one(*dims) && one(scale_dims))) {
    refuse(node, fmt::format("zero point must have shape {} like the scale, "
                             "got {}",
                             dims_text(scale_dims),
                             to_string(graph.shape(node.input(2)))));
  }
}

// Float8 values are read as float32, so only Q and DQ may produce and consume
// them, and all values of a DQ must have the type.
void check_float8(const OnnxNode& node, const OnnxGraph& graph) {
  const auto is_float8 = [&](int input) {
    return graph.element_type(node.input(input)) == kFloat8E4M3FN;
  };
  const bool quantize = is_quantize(node), dequantize = is_dequantize(node);
  for (int i = 0; i < node.input_size(); ++i) {
    const bool allowed = (dequantize && i != 1) || (quantize && i == 2);
    if (!is_float8(i) || allowed) continue;
    throw UnsupportedError("unsupported_type", describe(node),
                           fmt::format("input '{}' is float8e4m3fn, which only "
                                       "DequantizeLinear may consume",
                                       printable(node.input(i))));
  }
  if (!dequantize) return;
  const int32_t type = graph.element_type(node.input(0));
  if (type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::FLOAT16 ||
      type == onnx::TensorProto::BFLOAT16) {
    refuse(node,
           fmt::format("input must be quantized, got {}", type_name(type)));
  }
  const bool typed = !node.input(2).empty();
  if (typed && is_float8(0) != is_float8(2)) {
    refuse(node, "input and zero point must have the same type");
  }
}

// ONNX Runtime's quantizer has equivalent operators in its own domain.
bool has_qdq_domain(const onnx::NodeProto& node) {
  return is_standard_domain(node.domain()) || node.domain() == kMicrosoftDomain;
}

}  // namespace

bool is_quantize(const onnx::NodeProto& node) {
  return has_qdq_domain(node) && node.op_type() == "QuantizeLinear";
}

bool is_dequantize(const onnx::NodeProto& node) {
  return has_qdq_domain(node) && node.op_type() == "DequantizeLinear";
}

QdqParams qdq_params(const onnx::NodeProto& node, const OnnxGraph& graph) {
  if (node.input_size() < 2) refuse(node, "must have a tensor and a scale");
  QdqParams qparams;
  const auto scale_dims = graph.dims(node.input(1));
  if (!scale_dims) return qparams;
  qparams.axis = channel_axis(node, *scale_dims, graph);
  check_zero_point(node, *scale_dims, graph);
  if (const auto* scale = graph.tensor(node.input(1))) {
    qparams.scales = scales_of(node, *scale);
  }
  return qparams;
}

void check_qdq(const OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes()) {
    if (is_quantize(node) || is_dequantize(node)) qdq_params(node, graph);
    check_float8(node, graph);
  }
}

}  // namespace octet::io
