// Operators that join, cut, pad or repeat values, or hand them on.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/class_token.h>
#include <octet/layers/concatenate.h>
#include <octet/layers/cropping1d.h>
#include <octet/layers/cropping2d.h>
#include <octet/layers/dropout.h>
#include <octet/layers/select_token.h>
#include <octet/layers/zero_padding1d.h>
#include <octet/layers/zero_padding2d.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "inputs.h"

namespace octet::io::importing {
namespace {

/// What is added at the ends of each axis, or cut off.
struct AxisEnds {
  Sizes begin;
  Sizes end;
};

void pad_or_crop(Conversion& c, const AxisEnds& ends) {
  const View& view = c.view(0);
  const int rank = view.rank();
  const auto is_moved = [&](int axis) {
    const auto i = static_cast<size_t>(axis);
    return ends.begin[i] != 0 || ends.end[i] != 0;
  };
  std::vector<int> moved;
  bool grows = true;
  bool shrinks = true;
  constexpr int64_t kMost = 1 << 20;
  for (int axis = 0; axis < rank; ++axis) {
    if (!is_moved(axis)) continue;
    moved.push_back(axis);
    const auto i = static_cast<size_t>(axis);
    if (std::max(ends.begin[i], ends.end[i]) > kMost ||
        std::min(ends.begin[i], ends.end[i]) < -kMost) {
      c.refuse(fmt::format("expected padding of at most {}, got more", kMost));
    }
    grows &= ends.begin[i] >= 0 && ends.end[i] >= 0;
    shrinks &= ends.begin[i] <= 0 && ends.end[i] <= 0;
  }
  if (moved.empty()) {
    c.note("nothing to do");
    return c.pass(view);
  }
  // In which order these axes are those of pixels.
  std::vector<int> order;
  if (rank == 3 || rank == 4) {
    const auto within = [&](int first, int last) {
      return moved.front() >= first && moved.back() <= last;
    };
    if (within(2, rank - 1)) order = channels_last(rank);
    if (within(1, rank - 2) && (order.empty() || natural_order(view)[1] == 1)) {
      order = file_order(rank);
    }
  }
  if (order.empty() || !(grows || shrinks)) {
    c.refuse(fmt::format(
        "expected padding of pixels, or cropping of them, got axes [{}] of {}",
        fmt::join(moved, ","), importing::text_of(view)));
  }
  const int64_t sign = grows ? 1 : -1;
  const auto along = [&](int pixel_axis) {
    const auto i = static_cast<size_t>(order[static_cast<size_t>(pixel_axis)]);
    return Ends(sign * ends.begin[i], sign * ends.end[i]);
  };
  const auto layer = [&]() -> LayerHandle {
    if (rank == 3) {
      if (grows) return ZeroPadding1D({.padding = along(1)});
      return Cropping1D({.cropping = along(1)});
    }
    if (grows) return ZeroPadding2D({.padding = Pads(along(1), along(2))});
    return Cropping2D({.cropping = Pads(along(1), along(2))});
  };
  c.give(view_of(c.add(layer(), {c.operand(0, order)}), order));
}

/// [1,...], where all rows are alike; no tensor where they are not.
Tensor one_row(const Tensor& value) {
  const Tensor first = value.slice(0, 1);
  const auto row = static_cast<size_t>(first.bytes());
  const auto* bytes = static_cast<const char*>(value.raw());
  for (int64_t i = 1; i < value.shape()[0]; ++i) {
    if (std::memcmp(bytes, bytes + static_cast<size_t>(i) * row, row) != 0) {
      return {};
    }
  }
  return first;
}

/// A constant token in front of all others.
bool convert_class_token(Conversion& c, int64_t axis) {
  if (c.inputs() != 2 || !c.is_constant(0) || c.is_constant(1)) return false;
  const Tensor token = c.floats(0);
  const View& view = c.view(1);
  const Sizes sizes = sizes_of(view);
  const Shape& shape = token.shape();
  const int64_t batch = fixed_batch(c.graph());
  if (view.rank() != 3 || c.axis_of(axis, 3) != 1 || shape.rank() != 3 ||
      shape[1] != 1 || shape[2] != sizes[2] ||
      (shape[0] != 1 && shape[0] != batch)) {
    return false;
  }
  const Tensor row = one_row(token);
  if (row.empty()) return false;
  const SymbolicTensor y = c.add(ClassToken(), {c.operand(1, file_order(3))},
                                 {{"class_token", row}});
  c.give(view_of(y, file_order(3)));
  return true;
}

}  // namespace

void convert_cast(Conversion& c) {
  if (c.integer("to", 0) != onnx::TensorProto::FLOAT) {
    c.refuse("to: expected float32; values of a model are of that type");
  }
  c.note("nothing to do");
  c.pass(c.view(0));
}

void convert_concat(Conversion& c) {
  const int64_t given = c.integer("axis", 1);
  if (convert_class_token(c, given)) return;
  const View* largest = &c.view(0);
  for (int i = 1; i < c.inputs(); ++i) {
    const View& view = c.view(i);
    if (view.rank() != largest->rank()) {
      c.refuse(fmt::format("expected values of one rank, got {} and {}",
                           importing::text_of(*largest),
                           importing::text_of(view)));
    }
    if (view.parts.size() > largest->parts.size()) largest = &view;
  }
  const int rank = largest->rank();
  const int axis = c.axis_of(given, rank);
  // Images and what is one of one pixel lie with their channels last.
  const std::vector<int> order =
      rank == 4 && natural_order(*largest) != file_order(4)
          ? channels_last(4)
          : natural_order(*largest);
  const auto at = std::ranges::find(order, axis) - order.begin();
  if (at == 0) c.refuse("axis: expected one of a sample, got that of samples");
  std::vector<Operand> operands;
  for (int i = 0; i < c.inputs(); ++i) operands.push_back(c.operand(i, order));
  c.give(view_of(
      c.add(Concatenate({.axis = at == rank - 1 ? -1 : at}), operands), order));
}

void convert_dropout(Conversion& c) {
  if (c.proto().output_size() > 1 && !c.proto().output(1).empty() &&
      c.graph().uses(c.proto().output(1)) > 0) {
    c.refuse("expected one output, got its mask, too");
  }
  const float rate = c.has(1) ? c.scalar(1) : c.number("ratio", 0.5f);
  View y = c.view(0);
  y.tensor = c.add(Dropout({.rate = rate}), {c.as_it_lies(0)});
  c.give(std::move(y));
}

// A constant that is the same to all samples broadcasts as it is.
void convert_expand(Conversion& c) {
  const Tensor& value = c.constant(0);
  const Sizes sizes = c.integers(1);
  const Shape& shape = value.shape();
  bool same =
      std::ssize(sizes) == shape.rank() && sizes[0] == kBatch && shape[0] == 1;
  for (int axis = 1; same && axis < shape.rank(); ++axis) {
    const int64_t size = sizes[static_cast<size_t>(axis)];
    same = size == shape[axis] || size == 1;
  }
  if (!same) {
    c.refuse("expected a constant that is repeated for each sample");
  }
  c.graph().set_constant(c.output(), {value, {}, c.proto().input(0)});
  c.note("constant");
}

void convert_gather(Conversion& c) {
  const View& view = c.view(0);
  const Tensor& index = c.constant(1);
  const int axis = c.axis_of(c.integer("axis", 0), view.rank());
  if (view.rank() != 3 || axis != 1 || index.size() != 1 ||
      index.shape().rank() > 1 || index.dtype() == DType::f32) {
    c.refuse(
        fmt::format("expected one token of [N,t,d], got indices {} on "
                    "axis {} of {}",
                    index.shape().to_string(), axis, importing::text_of(view)));
  }
  const int64_t at = index.dtype() == DType::i64 ? index.data<int64_t>()[0]
                                                 : index.data<int32_t>()[0];
  const SymbolicTensor y =
      c.add(SelectToken({.index = at}), {c.operand(0, file_order(3))});
  View token = view_of(y, file_order(2));
  if (index.shape().rank() == 1) {
    token.axes.insert(token.axes.begin() + 1, std::vector<size_t>());
  }
  c.give(std::move(token));
}

void convert_identity(Conversion& c) {
  if (c.is_constant(0)) {
    c.graph().set_constant(c.output(), *c.graph().constant(c.proto().input(0)));
    return c.note("constant");
  }
  c.note("nothing to do");
  c.pass(c.view(0));
}

void convert_pad(Conversion& c) {
  const std::string mode = c.text("mode", "constant");
  if (mode != "constant") {
    c.refuse(fmt::format("mode: expected constant, got {}", mode));
  }
  const Sizes pads = c.has(1) ? c.integers(1) : c.integers("pads");
  const float value = c.has(2) ? c.scalar(2) : c.number("value", 0);
  const int rank = c.view(0).rank();
  AxisEnds ends{Sizes(static_cast<size_t>(rank)),
                Sizes(static_cast<size_t>(rank))};
  Sizes axes;
  if (c.has(3)) {
    for (const int64_t axis : c.integers(3))
      axes.push_back(c.axis_of(axis, rank));
  } else {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  if (pads.size() != 2 * axes.size()) {
    c.refuse(fmt::format("pads: expected {} numbers, got {}", 2 * axes.size(),
                         pads.size()));
  }
  bool grows = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    ends.begin[axis] = pads[i];
    ends.end[axis] = pads[i + axes.size()];
    grows |= pads[i] > 0 || pads[i + axes.size()] > 0;
  }
  if (value != 0 && grows) {
    c.refuse(fmt::format("value: expected 0, got {}", value));
  }
  pad_or_crop(c, ends);
}

void convert_slice(Conversion& c) {
  const int rank = c.view(0).rank();
  const Sizes sizes = sizes_of(c.view(0));
  const bool old = c.opset() < 10;
  const Sizes starts = old ? c.integers("starts") : c.integers(1);
  const Sizes stops = old ? c.integers("ends") : c.integers(2);
  Sizes axes = old ? c.integers("axes") : c.has(3) ? c.integers(3) : Sizes();
  const Sizes steps = !old && c.has(4) ? c.integers(4) : Sizes();
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (starts.size() != axes.size() || stops.size() != axes.size()) {
    c.refuse("expected a start and an end for each axis");
  }
  if (std::ranges::any_of(steps, [](int64_t s) { return s != 1; })) {
    c.refuse(fmt::format("steps: expected 1, got [{}]", fmt::join(steps, ",")));
  }
  AxisEnds ends{Sizes(static_cast<size_t>(rank)),
                Sizes(static_cast<size_t>(rank))};
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(c.axis_of(axes[i], rank));
    const int64_t size = sizes[axis];
    if (size == kBatch) {
      if (starts[i] == 0 && stops[i] >= INT32_MAX) continue;
      c.refuse("axes: expected those of a sample, got that of samples");
    }
    const auto clamped = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    };
    ends.begin[axis] = -clamped(starts[i]);
    ends.end[axis] = -(size - clamped(stops[i]));
  }
  pad_or_crop(c, ends);
}

}  // namespace octet::io::importing
