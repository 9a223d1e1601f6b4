#include "arranged.h"

#include <algorithm>

#include <octet/layers/ops.h>

namespace octet::io {
namespace {

std::vector<Dim> permuted_dims(std::span<const Dim> dims,
                               std::span<const int> order) {
  std::vector<Dim> result;
  for (const int axis : order) {
    result.push_back(dims[static_cast<size_t>(axis)]);
  }
  return result;
}

/// Returns the stored axis of each logical axis; nothing if the layout is not a
/// permutation of axes.
std::optional<std::vector<int>> permutation_of(const AxisLayout& layout) {
  const std::vector<Dim> dims = layout.dims();
  const std::vector<Dim>& stored = layout.stored();
  const auto in_memory = layout.stored_order();
  if (!in_memory || dims.size() != stored.size()) return std::nullopt;
  std::vector<int> order(dims.size());
  for (const bool one : {false, true}) {
    size_t next = 0;
    for (const int logical : *in_memory) {
      const auto axis = static_cast<size_t>(logical);
      if (dims[axis].is_one() != one) continue;
      while (next < stored.size() && stored[next].is_one() != one) ++next;
      if (next == stored.size() || stored[next] != dims[axis]) {
        return std::nullopt;
      }
      order[axis] = static_cast<int>(next++);
    }
  }
  return order;
}

SymbolicTensor transpose_by(const SymbolicTensor& x,
                            const std::vector<int>& order) {
  return transpose(x, {order.begin(), order.end()});
}
Tensor transpose_by(const Tensor& x, const std::vector<int>& order) {
  return x.transposed(order);
}

SymbolicTensor reshape_to(const SymbolicTensor& x, std::span<const Dim> dims) {
  const Shape shape = shape_of(dims);
  return reshape(x, {shape.dims().begin(), shape.dims().end()});
}
Tensor reshape_to(const Tensor& x, std::span<const Dim> dims) {
  return x.reshaped(shape_of(dims));
}

template <class T>
T arranged_as(const T& stored, const AxisLayout& layout) {
  const std::vector<Dim> dims = layout.dims();
  if (layout.in_order() && dims == layout.stored()) return stored;
  // Export removes transposes of axes of size 1.
  if (const auto order = permutation_of(layout)) {
    return transpose_by(stored, *order);
  }
  if (layout.in_order()) return reshape_to(stored, dims);
  const Rearrangement moves = layout.rearrangement();
  T result = moves.split.empty() ? stored : reshape_to(stored, moves.split);
  result = transpose_by(result, moves.order);
  return moves.joined.empty() ? result : reshape_to(result, moves.joined);
}

}  // namespace

std::vector<Dim> dims_of(const Shape& shape) {
  std::vector<Dim> dims;
  for (const int64_t size : shape.dims()) {
    dims.push_back(size == Shape::kAnySize ? Dim{1, true} : Dim{size, false});
  }
  return dims;
}

Shape shape_of(std::span<const Dim> dims) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : dims) {
    sizes.push_back(dim.batch ? Shape::kAnySize : dim.factor);
  }
  return Shape(std::span<const int64_t>(sizes));
}

std::vector<int> inverse_of(std::span<const int> order) {
  std::vector<int> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  return inverse;
}

SymbolicTensor arranged(const SymbolicTensor& stored,
                        const AxisLayout& layout) {
  return arranged_as(stored, layout);
}
Tensor arranged(const Tensor& stored, const AxisLayout& layout) {
  return arranged_as(stored, layout);
}

std::optional<AxisLayout> between(const AxisLayout& from,
                                  const AxisLayout& to) {
  // The inverse of the operations of `to`, on the logical tensor of `from`.
  const Rearrangement moves = to.rearrangement();
  std::optional<AxisLayout> result = from;
  if (!moves.order.empty()) {
    result = result->reshaped(permuted_dims(
        moves.split.empty() ? to.stored() : moves.split, moves.order));
    if (!result) return std::nullopt;
    result = result->transposed(inverse_of(moves.order));
  }
  return result->reshaped(to.stored());
}

Tensor in_axes(const Tensor& x, std::span<const int> from,
               std::span<const int> to) {
  const std::vector<Dim> dims = dims_of(x.shape());
  // From the stored tensor to its logical axes, and back in another order.
  return arranged(x,
                  AxisLayout(dims).transposed(from).transposed(inverse_of(to)));
}

}  // namespace octet::io
