// Operators that move elements.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "onnx/graph/tensors.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

constexpr int64_t kSplitAsInput = 13;
constexpr int64_t kSliceInputs = 10;

// Copies `rows` runs of `bytes` bytes with different strides.
void copy_rows(const void* from, int64_t from_stride, void* to,
               int64_t to_stride, int64_t bytes, int64_t rows) {
  if (bytes == 0) return;
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(static_cast<char*>(to) + row * to_stride,
                static_cast<const char*>(from) + row * from_stride,
                static_cast<size_t>(bytes));
  }
}

// Returns the bytes per index of an axis.
int64_t bytes_behind(const Tensor& x, int axis) {
  return x.shape().slice(axis + 1, x.shape().rank()).size() *
         size_of(x.dtype());
}

// Default sizes; with num_outputs, the last part may be smaller.
Sizes equal_parts(const NodeContext& context, int64_t total, int64_t parts) {
  const bool said = context.has_attribute("num_outputs");
  if (!said && total % parts != 0) return {};
  const int64_t size = (total + parts - 1) / parts;
  Sizes sizes;
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::clamp<int64_t>(total - i * size, 0, size));
  }
  return sizes;
}

// A slice of an axis.
struct Slice {
  int64_t start = 0;
  int64_t count = 0;
  int64_t step = 1;
};

// Accepts any numbers except a step of 0.
Slice slice_of(int64_t size, int64_t start, int64_t end, int64_t step) {
  if (size == 0) return {0, 0, 1};
  // A step beyond the size also selects one element.
  step = std::clamp(step, -size - 1, size + 1);
  const bool back = step < 0;
  if (start < 0) start += size;
  if (end < 0) end += size;
  // Backward slices begin on an element and end before the first element.
  start = std::clamp<int64_t>(start, 0, back ? size - 1 : size);
  end = back ? std::clamp<int64_t>(end, -1, size - 1)
             : std::clamp<int64_t>(end, 0, size);
  const int64_t span = back ? start - end : end - start;
  const int64_t pace = back ? -step : step;
  return {start, span > 0 ? (span + pace - 1) / pace : 0, step};
}

// Returns a slice for each axis of x.
std::vector<Slice> slices_of(const NodeContext& context, const Tensor& x) {
  const Sizes starts = context.integers_since(kSliceInputs, 1, "starts");
  const Sizes ends = context.integers_since(kSliceInputs, 2, "ends");
  Sizes axes = context.integers_since(kSliceInputs, 3, "axes");
  Sizes steps = context.integers_since(kSliceInputs, 4, "steps");
  if (axes.empty()) {
    axes.resize(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (steps.empty()) steps = Sizes(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    context.refuse(fmt::format(
        "numbers of starts, ends, axes and steps differ: {}, {}, {} and {}",
        starts.size(), ends.size(), axes.size(), steps.size()));
  }
  std::vector<Slice> slices;
  for (const int64_t size : sizes_of(x)) slices.push_back({0, size, 1});
  std::vector<bool> seen(slices.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = context.axis(axes[i], x.shape().rank());
    const auto at = static_cast<size_t>(axis);
    if (steps[i] == 0 || seen[at]) {
      context.refuse(
          fmt::format("steps must not be 0 and axes must be unique, got {} and "
                      "{}",
                      dims_text(steps), dims_text(axes)));
    }
    seen[at] = true;
    slices[at] = slice_of(x.shape()[axis], starts[i], ends[i], steps[i]);
  }
  return slices;
}

Values concat(const NodeContext& context) {
  const Tensor& first = context.input(0);
  const int axis =
      context.axis(context.integer("axis", 1), first.shape().rank());
  int64_t total = 0;
  for (size_t i = 0; i < context.inputs().size(); ++i) {
    const Tensor& x = context.input(i);
    if (x.dtype() != first.dtype() ||
        x.shape().rank() != first.shape().rank() ||
        x.shape().with(axis, 1) != first.shape().with(axis, 1)) {
      context.refuse(fmt::format(
          "inputs must agree in all axes but axis {}, got {} and {}", axis,
          first.shape().to_string(), x.shape().to_string()));
    }
    total += x.shape()[axis];
  }
  Sizes dims = sizes_of(first);
  dims[static_cast<size_t>(axis)] = total;
  Tensor y = context.make(dims, first.dtype());
  const int64_t rows = y.shape().slice(0, axis).size();
  const int64_t behind = bytes_behind(y, axis);
  char* to = static_cast<char*>(y.raw());
  for (const Tensor& x : context.inputs()) {
    const int64_t bytes = x.shape()[axis] * behind;
    copy_rows(x.raw(), bytes, to, total * behind, bytes, rows);
    to += bytes;
  }
  return {y};
}

Values split(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const int axis = context.axis(context.integer("axis", 0), x.shape().rank());
  const int64_t total = x.shape()[axis];
  const auto parts = static_cast<int64_t>(context.output_count());
  Sizes sizes = context.integers_since(kSplitAsInput, 1, "split");
  if (sizes.empty() && !context.has_input(1)) {
    sizes = equal_parts(context, total, parts);
  }
  // Each is checked against the total, so that the sum cannot overflow.
  const bool sound =
      static_cast<int64_t>(sizes.size()) == parts &&
      std::ranges::all_of(sizes,
                          [&](int64_t s) { return s >= 0 && s <= total; }) &&
      std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == total;
  if (!sound) {
    context.refuse(fmt::format("must have {} parts with the sum {}, got {}",
                               parts, total, dims_text(sizes)));
  }
  const int64_t rows = x.shape().slice(0, axis).size();
  const int64_t behind = bytes_behind(x, axis);
  const char* from = static_cast<const char*>(x.raw());
  Values values;
  for (const int64_t size : sizes) {
    Sizes dims = sizes_of(x);
    dims[static_cast<size_t>(axis)] = size;
    Tensor y = context.make(dims, x.dtype());
    copy_rows(from, total * behind, y.raw(), size * behind, size * behind,
              rows);
    from += size * behind;
    values.push_back(std::move(y));
  }
  return values;
}

Values slice(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const std::vector<Slice> slices = slices_of(context, x);
  Sizes dims = sizes_of(x);
  Sizes strides = strides_of(dims);
  int64_t base = 0;
  for (size_t axis = 0; axis < slices.size(); ++axis) {
    dims[axis] = slices[axis].count;
    base += slices[axis].start * strides[axis];
    strides[axis] *= slices[axis].step;
  }
  return {strided_copy(context, x, dims, strides, base)};
}

Values transpose(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes own = sizes_of(x);
  const Sizes own_strides = strides_of(own);
  Sizes order(own.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = context.integers("perm", order);
  Sizes sorted = order;
  std::ranges::sort(sorted);
  Sizes all(own.size());
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    context.refuse(fmt::format("perm must be a permutation of {} axes, got {}",
                               own.size(), dims_text(order)));
  }
  Sizes dims, strides;
  for (const int64_t axis : order) {
    dims.push_back(own[static_cast<size_t>(axis)]);
    strides.push_back(own_strides[static_cast<size_t>(axis)]);
  }
  return {strided_copy(context, x, dims, strides)};
}

Values expand(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes wanted = context.integers_of(1);
  for (const int64_t dim : wanted) {
    if (dim < 0) {
      context.refuse("dimensions must be >= 0, got " + dims_text(wanted));
    }
  }
  const Sizes dims = broadcast_dims(context, {sizes_of(x), wanted});
  return {strided_copy(context, x, dims, broadcast_strides(sizes_of(x), dims))};
}

Values tile(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Sizes own = sizes_of(x), repeats = context.integers_of(1);
  if (repeats.size() != own.size()) {
    context.refuse(fmt::format("must have {} repeats, got {}", own.size(),
                               dims_text(repeats)));
  }
  const Sizes own_strides = strides_of(own);
  Sizes result = own, dims, strides;
  for (size_t d = 0; d < own.size(); ++d) {
    if (repeats[d] < 0 ||
        __builtin_mul_overflow(own[d], repeats[d], &result[d])) {
      context.refuse("repeats are negative or too large: " +
                     dims_text(repeats));
    }
    dims.insert(dims.end(), {repeats[d], own[d]});
    strides.insert(strides.end(), {0, own_strides[d]});
  }
  Tensor y = context.make(result, x.dtype());
  copy_strided(context, x, dims, strides, 0, y);
  return {y};
}

}  // namespace

Operators movement_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"Concat", concat}, {"Expand", expand}, {"Slice", slice},
      {"Split", split},   {"Tile", tile},     {"Transpose", transpose},
  };
  return kOperators;
}

}  // namespace octet::io::run
