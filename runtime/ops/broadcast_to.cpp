#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "inference/trace.h"

namespace octet {
namespace {

void repeat_into(const Tensor& x, Tensor& y) {
  const Shape& from = x.shape();
  const Shape& shape = y.shape();
  const int extra = shape.rank() - from.rank();
  const float* values = x.f32().data();
  float* to = y.f32().data();
  // The last axis is copied by rows; `index` iterates over the others.
  const bool repeats = from.rank() == 0 || from[-1] == 1;
  const int64_t row = shape.rank() == 0 ? 1 : shape[-1];
  std::array<int64_t, Shape::kMaxRank> index{};
  for (int64_t done = 0; done < y.size(); done += row) {
    int64_t at = 0;
    for (int axis = 0; axis < from.rank() - 1; ++axis) {
      const int64_t i =
          from[axis] == 1 ? 0 : index[static_cast<size_t>(axis + extra)];
      at = at * from[axis] + i;
    }
    if (repeats) {
      std::fill(to + done, to + done + row, values[at]);
    } else {
      std::copy(values + at * row, values + (at + 1) * row, to + done);
    }
    for (int axis = shape.rank() - 2; axis >= 0; --axis) {
      if (++index[static_cast<size_t>(axis)] < shape[axis]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
}

}  // namespace

Variable broadcast_to(const Variable& x, const Shape& shape) {
  const Shape& from = x.shape();
  const int extra = shape.rank() - from.rank();
  bool fits = extra >= 0;
  for (int axis = 0; fits && axis < from.rank(); ++axis) {
    fits = from[axis] == shape[axis + extra] || from[axis] == 1;
  }
  if (!fits) {
    throw ShapeError("shape_mismatch", "broadcast_to",
                     fmt::format("{} does not broadcast to {}",
                                 from.to_string(), shape.to_string()));
  }
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "broadcast_to",
        .inputs = {x},
        .shape = shape,
        .forward = [](std::span<const Tensor> in,
                      Tensor& y) { repeat_into(in[0], y); },
        .across_samples = extra > 0};
  });
  if (traced) return traced;
  Tensor y(shape);
  repeat_into(x.value(), y);
  // The engine sums over repeated axes.
  return record("broadcast_to", {x}, y, {},
                [](const Tensor& dy) { return std::vector{dy}; });
}

}  // namespace octet
