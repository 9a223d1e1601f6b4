#include "qdq.h"

#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "bounds.h"
#include "tensors.h"

namespace octet::io {
namespace {

constexpr int64_t kDefaultAxis = 1;  // QuantizeLinear-13

[[noreturn]] void refuse(const onnx::NodeProto& node, std::string problem) {
  throw FormatError(fmt::format("{}: {}", describe(node), problem));
}

// The axis the scales lie along, or nothing if one scale is for the whole
// tensor. Some exporters write that one as [1].
std::optional<int64_t> channel_axis(const onnx::NodeProto& node,
                                    const std::vector<int64_t>& scale_dims,
                                    const GraphView& view) {
  if (scale_dims.empty()) return std::nullopt;
  if (scale_dims.size() > 1) {
    refuse(node, fmt::format("expected a scale of rank 0 or 1, got {}",
                             dims_text(scale_dims)));
  }
  const auto* attribute = find_attribute(node, "axis");
  int64_t axis = attribute == nullptr ? kDefaultAxis : attribute->i();
  const auto dims = view.dims(node.input(0));
  if (!dims) {
    // Nothing to hold it against.
    return scale_dims[0] == 1 ? std::nullopt : std::optional(axis);
  }
  const int64_t rank = static_cast<int64_t>(dims->size());
  const bool in_range = axis >= -rank && axis < rank;
  if (axis < 0) axis += rank;
  const int64_t channels =
      in_range ? (*dims)[static_cast<size_t>(axis)] : int64_t{-1};
  if (scale_dims[0] == 1 && channels != 1) return std::nullopt;
  if (!in_range) {
    refuse(node,
           fmt::format("expected an axis from {} to {} for {}, got {}", -rank,
                       rank - 1, to_text(view.shape(node.input(0))),
                       attribute == nullptr ? kDefaultAxis : attribute->i()));
  }
  if (scale_dims[0] >= 0 && channels >= 0 && scale_dims[0] != channels) {
    refuse(node, fmt::format("expected {} scales for axis {} of {}, got {}",
                             channels, axis, to_text(view.shape(node.input(0))),
                             scale_dims[0]));
  }
  return axis;
}

std::vector<float> scales_of(const onnx::NodeProto& node,
                             const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT) {
    refuse(node, fmt::format("expected float32 scales, got {}",
                             type_name(tensor.data_type())));
  }
  std::vector<float> scales = float_values(tensor);
  for (size_t i = 0; i < scales.size(); ++i) {
    if (!std::isfinite(scales[i]) || scales[i] <= 0) {
      refuse(node,
             fmt::format("expected finite scales > 0, got {} at index {} of "
                         "'{}'",
                         scales[i], i, printable(node.input(1))));
    }
  }
  return scales;
}

void check_zero_point(const onnx::NodeProto& node,
                      const std::vector<int64_t>& scale_dims,
                      const GraphView& view) {
  if (node.input_size() < 3 || node.input(2).empty()) return;
  const auto dims = view.dims(node.input(2));
  if (dims && *dims != scale_dims) {
    refuse(node, fmt::format("expected a zero point of shape {} like the "
                             "scale, got {}",
                             dims_text(scale_dims),
                             to_text(view.shape(node.input(2)))));
  }
}

}  // namespace

bool is_quantize(const onnx::NodeProto& node) {
  return is_standard_domain(node.domain()) &&
         node.op_type() == "QuantizeLinear";
}

bool is_dequantize(const onnx::NodeProto& node) {
  return is_standard_domain(node.domain()) &&
         node.op_type() == "DequantizeLinear";
}

QdqGrid qdq_grid(const onnx::NodeProto& node, const GraphView& view) {
  if (node.input_size() < 2) refuse(node, "expected a tensor and a scale");
  QdqGrid grid;
  const auto scale_dims = view.dims(node.input(1));
  if (!scale_dims) return grid;
  grid.axis = channel_axis(node, *scale_dims, view);
  check_zero_point(node, *scale_dims, view);
  if (const auto* scale = view.constant(node.input(1))) {
    grid.scales = scales_of(node, *scale);
  }
  return grid;
}

void check_qdq(const GraphView& view) {
  for (const auto& node : view.graph().node()) {
    if (is_quantize(node) || is_dequantize(node)) qdq_grid(node, view);
  }
}

}  // namespace octet::io
