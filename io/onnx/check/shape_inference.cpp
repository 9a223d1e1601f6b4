#include "shape_inference.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <onnx/defs/tensor_proto_util.h>

namespace octet::io::rules {
namespace {

using ListShape = onnx::TensorShapeProto;
using List = std::vector<int64_t>;

bool given(Context& c, size_t i) {
  return i < c.getNumInputs() && c.getInputType(i) != nullptr;
}

// Returns the integers of input i, some of which may be dynamic; nothing if
// they are unknown.
std::optional<ListShape> open_list(Context& c, size_t i) {
  if (const auto* tensor = c.getInputData(i)) {
    ListShape list;
    if (tensor->data_type() == onnx::TensorProto::INT64) {
      for (const int64_t value : onnx::ParseData<int64_t>(tensor)) {
        list.add_dim()->set_dim_value(value);
      }
      return list;
    }
    if (tensor->data_type() == onnx::TensorProto::INT32) {
      for (const int32_t value : onnx::ParseData<int32_t>(tensor)) {
        list.add_dim()->set_dim_value(value);
      }
      return list;
    }
    return std::nullopt;
  }
  if (const auto* symbols = c.getSymbolicInput(i)) return *symbols;
  return std::nullopt;
}

std::optional<List> list_of(Context& c, size_t i) {
  const auto open = open_list(c, i);
  if (!open) return std::nullopt;
  List list;
  for (const auto& dim : open->dim()) {
    if (!dim.has_dim_value()) return std::nullopt;
    list.push_back(dim.dim_value());
  }
  return list;
}

List attribute_list(Context& c, const char* name, List otherwise) {
  List list;
  if (!onnx::getRepeatedAttribute(c, name, list)) return otherwise;
  if (list.size() != otherwise.size()) {
    fail_shape_inference(name, " must have ", otherwise.size(), " values, got ",
                         list.size());
  }
  return list;
}

size_t axis_of(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail_shape_inference("axis must be from ", -rank, " to ", rank - 1,
                         ", got ", axis);
  }
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

ListShape open_shape(int rank) {
  ListShape shape;
  for (int d = 0; d < rank; ++d) shape.add_dim();
  return shape;
}

void set_shape(Context& c, size_t output, const ListShape& shape) {
  onnx::updateOutputShape(c, output, shape);
}

// Flags the listed axes.
std::vector<bool> flags_of(const List& axes, int rank) {
  std::vector<bool> flags(static_cast<size_t>(rank));
  for (const int64_t axis : axes) flags[axis_of(axis, rank)] = true;
  return flags;
}

List all_axes(int rank) {
  List axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

struct Window {
  int64_t kernel, stride, dilation, before, after;
};

int64_t windows_over(int64_t size, const Window& w, bool ceil) {
  const int64_t room =
      size + w.before + w.after - ((w.kernel - 1) * w.dilation + 1);
  if (room < 0) {
    fail_shape_inference("kernel of ", w.kernel,
                         " cells does not fit the image of ", size);
  }
  const int64_t count = room / w.stride + 1;
  const bool one_more =
      ceil && room % w.stride != 0 && count * w.stride < size + w.before;
  return one_more ? count + 1 : count;
}

}  // namespace

void keep(Context& c) { onnx::propagateShapeAndTypeFromFirstInput(c); }

void reduce(Context& c) {
  onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
  if (!onnx::hasInputShape(c, 0)) return;
  const auto& x = onnx::getInputShape(c, 0);
  const bool keeps = onnx::getAttribute(c, "keepdims", 1) != 0;
  List axes;
  if (given(c, 1)) {
    const auto listed = list_of(c, 1);
    if (!listed) {
      if (keeps) set_shape(c, 0, open_shape(x.dim_size()));
      return;
    }
    axes = *listed;
  }
  if (axes.empty()) {
    if (onnx::getAttribute(c, "noop_with_empty_axes", 0) != 0) {
      return set_shape(c, 0, x);
    }
    axes = all_axes(x.dim_size());
  }
  const auto goes = flags_of(axes, x.dim_size());
  ListShape shape;
  for (int d = 0; d < x.dim_size(); ++d) {
    if (!goes[static_cast<size_t>(d)]) {
      *shape.add_dim() = x.dim(d);
    } else if (keeps) {
      shape.add_dim()->set_dim_value(1);
    }
  }
  set_shape(c, 0, shape);
}

void split(Context& c) {
  const auto parts = static_cast<int64_t>(c.getNumOutputs());
  for (size_t i = 0; i < c.getNumOutputs(); ++i) {
    onnx::propagateElemTypeFromInputToOutput(c, 0, i);
  }
  if (onnx::getAttribute(c, "num_outputs", parts) != parts) {
    fail_shape_inference("num_outputs must be ", parts, ", got ",
                         onnx::getAttribute(c, "num_outputs", parts));
  }
  if (!onnx::hasInputShape(c, 0)) return;
  ListShape shape = onnx::getInputShape(c, 0);
  const auto axis = static_cast<int>(
      axis_of(onnx::getAttribute(c, "axis", 0), shape.dim_size()));
  const auto total = shape.dim(axis);
  const auto listed = given(c, 1) ? list_of(c, 1) : std::nullopt;
  if (listed && static_cast<int64_t>(listed->size()) != parts) {
    fail_shape_inference("must have ", parts, " sizes of parts, got ",
                         listed->size());
  }
  for (int64_t i = 0; i < parts; ++i) {
    auto* dim = shape.mutable_dim(axis);
    dim->Clear();
    if (listed) {
      dim->set_dim_value((*listed)[static_cast<size_t>(i)]);
    } else if (!given(c, 1) && total.has_dim_value()) {
      const int64_t size = (total.dim_value() + parts - 1) / parts;
      const int64_t left = total.dim_value() - i * size;
      dim->set_dim_value(std::clamp<int64_t>(left, 0, size));
    }
    set_shape(c, static_cast<size_t>(i), shape);
  }
}

void pad(Context& c) {
  onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
  if (!onnx::hasInputShape(c, 0)) return;
  const auto& x = onnx::getInputShape(c, 0);
  const auto pads = list_of(c, 1);
  const auto axes =
      given(c, 3) ? list_of(c, 3) : std::optional(all_axes(x.dim_size()));
  if (!pads || !axes) return set_shape(c, 0, open_shape(x.dim_size()));
  if (pads->size() != 2 * axes->size()) {
    fail_shape_inference("must have ", 2 * axes->size(), " pads, got ",
                         pads->size());
  }
  ListShape shape = x;
  for (size_t i = 0; i < axes->size(); ++i) {
    auto* dim =
        shape.mutable_dim(static_cast<int>(axis_of((*axes)[i], x.dim_size())));
    const int64_t before = (*pads)[i], after = (*pads)[i + axes->size()];
    int64_t size = dim->dim_value();
    if (before == 0 && after == 0) continue;
    if (!dim->has_dim_value()) {
      dim->Clear();
    } else if (__builtin_add_overflow(size, before, &size) ||
               __builtin_add_overflow(size, after, &size) || size < 0) {
      fail_shape_inference("pads ", before, " and ", after,
                           " leave no size of ", dim->dim_value());
    } else {
      dim->set_dim_value(size);
    }
  }
  set_shape(c, 0, shape);
}

void resize(Context& c) {
  onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
  if (!onnx::hasInputShape(c, 0)) return;
  const auto& x = onnx::getInputShape(c, 0);
  List axes;
  if (!onnx::getRepeatedAttribute(c, "axes", axes)) {
    axes = all_axes(x.dim_size());
  }
  ListShape shape = x;
  const auto sizes = given(c, 3) ? open_list(c, 3) : std::nullopt;
  const auto* scales = given(c, 2) ? c.getInputData(2) : nullptr;
  std::vector<float> factors;
  if (scales != nullptr && scales->data_type() == onnx::TensorProto::FLOAT) {
    factors = onnx::ParseData<float>(scales);
  }
  const auto* policy = c.getAttribute("keep_aspect_ratio_policy");
  const bool stretches = policy == nullptr || policy->s() == "stretch";
  for (size_t i = 0; i < axes.size(); ++i) {
    auto* dim =
        shape.mutable_dim(static_cast<int>(axis_of(axes[i], x.dim_size())));
    if (sizes && sizes->dim_size() == static_cast<int>(axes.size()) &&
        stretches) {
      *dim = sizes->dim(static_cast<int>(i));
    } else if (factors.size() == axes.size() && dim->has_dim_value()) {
      const float size = static_cast<float>(dim->dim_value()) * factors[i];
      if (!(size >= 0 && size < 2147483648.0f)) {
        fail_shape_inference("scales must be > 0, got ", factors[i]);
      }
      dim->set_dim_value(static_cast<int64_t>(size));
    } else if (factors.size() != axes.size() || factors[i] != 1) {
      dim->Clear();
    }
  }
  set_shape(c, 0, shape);
}

void quantize(Context& c) {
  if (given(c, 2)) {
    onnx::propagateElemTypeFromInputToOutput(c, 2, 0);
  } else {
    const auto type = static_cast<int32_t>(
        onnx::getAttribute(c, "output_dtype", onnx::TensorProto::UNDEFINED));
    onnx::updateOutputElemType(
        c, 0,
        type == onnx::TensorProto::UNDEFINED ? onnx::TensorProto::UINT8 : type);
  }
  if (onnx::hasInputShape(c, 0)) {
    onnx::propagateShapeFromInputToOutput(c, 0, 0);
  }
}

void dequantize(Context& c) {
  const auto type = static_cast<int32_t>(
      onnx::getAttribute(c, "output_dtype", onnx::TensorProto::UNDEFINED));
  if (type != onnx::TensorProto::UNDEFINED) {
    onnx::updateOutputElemType(c, 0, type);
  } else if (given(c, 1)) {
    onnx::propagateElemTypeFromInputToOutput(c, 1, 0);
  }
  if (onnx::hasInputShape(c, 0)) {
    onnx::propagateShapeFromInputToOutput(c, 0, 0);
  }
}

void pool(Context& c) {
  onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
  if (c.getNumOutputs() > 1) {
    onnx::updateOutputElemType(c, 1, onnx::TensorProto::INT64);
  }
  if (!onnx::hasInputShape(c, 0)) return;
  const auto& x = onnx::getInputShape(c, 0);
  if (x.dim_size() < 2) {
    fail_shape_inference("input must be [n,c,...], got rank ", x.dim_size());
  }
  const auto axes = static_cast<size_t>(x.dim_size()) - 2;
  const List kernel = attribute_list(c, "kernel_shape", List(axes, 1));
  const List strides = attribute_list(c, "strides", List(axes, 1));
  const List dilations = attribute_list(c, "dilations", List(axes, 1));
  List pads = attribute_list(c, "pads", List(2 * axes, 0));
  const auto* attribute = c.getAttribute("auto_pad");
  const std::string automatic =
      attribute == nullptr ? std::string() : attribute->s();
  if (automatic == "VALID") std::ranges::fill(pads, 0);
  const bool ceil = onnx::getAttribute(c, "ceil_mode", 0) != 0;
  ListShape shape;
  *shape.add_dim() = x.dim(0);
  *shape.add_dim() = x.dim(1);
  for (size_t i = 0; i < axes; ++i) {
    const auto& in = x.dim(static_cast<int>(i) + 2);
    auto* out = shape.add_dim();
    if (!in.has_dim_value()) continue;
    if (automatic.starts_with("SAME")) {
      out->set_dim_value((in.dim_value() + strides[i] - 1) / strides[i]);
    } else {
      const Window window{kernel[i], strides[i], dilations[i], pads[i],
                          pads[i + axes]};
      out->set_dim_value(windows_over(in.dim_value(), window, ceil));
    }
  }
  for (size_t i = 0; i < c.getNumOutputs(); ++i) set_shape(c, i, shape);
}

void global_pool(Context& c) {
  onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
  if (!onnx::hasInputShape(c, 0)) return;
  ListShape shape = onnx::getInputShape(c, 0);
  for (int d = 2; d < shape.dim_size(); ++d) {
    shape.mutable_dim(d)->set_dim_value(1);
  }
  set_shape(c, 0, shape);
}

// Inputs: a, its scale and zero point; the same for b and for the result.
void broadcast_inputs(Context& c, size_t other) {
  onnx::propagateElemTypeFromInputToOutput(c, 0, 0);
  if (!onnx::hasInputShape(c, 0) || !onnx::hasInputShape(c, other)) return;
  ListShape shape;
  onnx::bidirectionalBroadcastShapeInference(
      onnx::getInputShape(c, 0), onnx::getInputShape(c, other), shape);
  set_shape(c, 0, shape);
}

void broadcast(Context& c) { broadcast_inputs(c, 1); }
void qlinear_binary(Context& c) { broadcast_inputs(c, 3); }

// Inputs: scale and zero point of the result, then tensors, each with its own.
void qlinear_concat(Context& c) {
  onnx::propagateElemTypeFromInputToOutput(c, 1, 0);
  ListShape shape;
  for (size_t i = 2; i < c.getNumInputs(); i += 3) {
    if (!onnx::hasInputShape(c, i)) return;
    const auto& x = onnx::getInputShape(c, i);
    if (i == 2) {
      shape = x;
      continue;
    }
    if (x.dim_size() != shape.dim_size()) {
      fail_shape_inference("tensors must have the same rank, got ",
                           shape.dim_size(), " and ", x.dim_size());
    }
    const auto axis = static_cast<int>(
        axis_of(onnx::getAttribute(c, "axis", 0), shape.dim_size()));
    auto* dim = shape.mutable_dim(axis);
    if (dim->has_dim_value() && x.dim(axis).has_dim_value()) {
      dim->set_dim_value(dim->dim_value() + x.dim(axis).dim_value());
    } else {
      dim->Clear();
    }
  }
  set_shape(c, 0, shape);
}

// Inputs: a, its scale and zero point; the same for b; bias; scale and zero
// point of the result, which is float without them.
void qgemm(Context& c) {
  if (given(c, 8)) {
    onnx::propagateElemTypeFromInputToOutput(c, 8, 0);
  } else {
    onnx::updateOutputElemType(c, 0, onnx::TensorProto::FLOAT);
  }
  if (!onnx::hasInputShape(c, 0) || !onnx::hasInputShape(c, 3)) return;
  const auto& a = onnx::getInputShape(c, 0);
  const auto& b = onnx::getInputShape(c, 3);
  if (a.dim_size() != 2 || b.dim_size() != 2) {
    fail_shape_inference("inputs must be matrices, got ranks ", a.dim_size(),
                         " and ", b.dim_size());
  }
  ListShape shape;
  *shape.add_dim() = a.dim(onnx::getAttribute(c, "transA", 0) != 0 ? 1 : 0);
  *shape.add_dim() = b.dim(onnx::getAttribute(c, "transB", 0) != 0 ? 0 : 1);
  set_shape(c, 0, shape);
}

}  // namespace octet::io::rules
