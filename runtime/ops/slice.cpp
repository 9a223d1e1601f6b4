#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "inference/trace.h"

namespace octet {
namespace {

// Entries first, first + step, ... of an axis.
struct Entries {
  int axis;
  int64_t first, count, step;

  /// Calls `visit(offset in x, offset in the result)` for each row of row_of()
  /// values.
  template <class Visit>
  void for_each_row(const Shape& x, const Visit& visit) const {
    const int64_t outer = x.slice(0, axis).size();
    const int64_t inner = x.slice(axis + 1, x.rank()).size();
    const int64_t rows = step == 1 ? 1 : count;
    const int64_t size = x[axis], length = row_of(x);
    for (int64_t i = 0; i < outer; ++i) {
      for (int64_t row = 0; row < rows; ++row) {
        visit((i * size + first + row * step) * inner,
              (i * rows + row) * length);
      }
    }
  }
  /// With step 1 the entries are contiguous.
  int64_t row_of(const Shape& x) const {
    const int64_t inner = x.slice(axis + 1, x.rank()).size();
    return step == 1 ? count * inner : inner;
  }
};

void slice_into(const Tensor& x, const Entries& entries, Tensor& y) {
  const size_t bytes =
      static_cast<size_t>(entries.row_of(x.shape())) * sizeof(float);
  const float* values = x.f32().data();
  float* to = y.f32().data();
  entries.for_each_row(x.shape(), [&](int64_t whole, int64_t part) {
    std::memcpy(to + part, values + whole, bytes);
  });
}

}  // namespace

Variable slice(const Variable& x, int axis, int64_t first, int64_t count,
               int64_t step) {
  const Shape from = x.shape();
  const int64_t size = from[axis];  // checks the axis
  if (axis < 0) axis += from.rank();
  const auto within = [&](int64_t place) { return place >= 0 && place < size; };
  int64_t last = 0;
  const bool overflows = __builtin_mul_overflow(count - 1, step, &last) ||
                         __builtin_add_overflow(first, last, &last);
  const bool fits =
      count == 0 ? first >= 0 && first <= size
                 : count > 0 && !overflows && within(first) && within(last);
  if (!fits || step == 0) {
    throw ShapeError(
        "out_of_range", "slice",
        fmt::format("{} entries from {}{} are out of range for axis {} of {}",
                    count, first,
                    step == 1 ? "" : fmt::format(" in steps of {}", step), axis,
                    from.to_string()));
  }
  const Shape shape = from.with(axis, count);
  const Entries entries{axis, first, count, step};
  const Variable traced = inference::offer([&] {
    inference::Attributes attributes;
    if (axis > 0 && axis == from.rank() - 1 && step == 1) {
      attributes = inference::ChannelSlice{first};
    }
    return inference::TracedOp{
        .op = "slice",
        .inputs = {x},
        .shape = shape,
        .attributes = attributes,
        .forward = [entries](std::span<const Tensor> in,
                             Tensor& y) { slice_into(in[0], entries, y); },
        .across_samples = axis == 0};
  });
  if (traced) return traced;
  Tensor y(shape);
  slice_into(x.value(), entries, y);
  return record("slice", {x}, y, {}, [=](const Tensor& dy) {
    Tensor dx = Tensor::zeros(from);
    const size_t bytes =
        static_cast<size_t>(entries.row_of(from)) * sizeof(float);
    const float* g = dy.f32().data();
    float* out = dx.f32().data();
    entries.for_each_row(from, [&](int64_t whole, int64_t part) {
      std::memcpy(out + whole, g + part, bytes);
    });
    return std::vector{dx};
  });
}

Variable Variable::index(const std::vector<Index>& indices) const {
  const Shape from = shape();
  const std::vector<AxisPart> parts = parts_of(from, indices);
  Variable y = *this;
  std::vector<int64_t> kept;
  for (int axis = 0; axis < from.rank(); ++axis) {
    const AxisPart& part = parts[static_cast<size_t>(axis)];
    if (part.count != from[axis] || part.step != 1) {
      y = slice(y, axis, part.first, part.count, part.step);
    }
    if (!part.dropped) kept.push_back(part.count);
  }
  const Shape shape{std::span<const int64_t>(kept)};
  return shape == y.shape() ? y : reshape(y, shape);
}

Variable Variable::operator[](int64_t index) const {
  const Shape from = shape();
  if (from.rank() == 0) {
    throw ShapeError("invalid_shape", "operator[]",
                     "needs a tensor with axes, got a scalar");
  }
  const int64_t size = from[0];
  if (index < -size || index >= size) {
    throw ShapeError("out_of_range", "operator[]",
                     fmt::format("index {} is not in [{},{}) for {}", index,
                                 -size, size, from.to_string()));
  }
  return reshape(slice(*this, 0, index < 0 ? index + size : index, 1),
                 from.slice(1, from.rank()));
}

}  // namespace octet
