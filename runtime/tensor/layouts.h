// Changes of a tensor's layout.
#pragma once

#include <span>

#include <octet/runtime/tensor.h>

namespace octet {

/// y[i0, i1, ...] = x with axis `order[k]` as axis k.
/// Throws: ShapeError if `order` is not a permutation of x's axes.
void transpose_into(const Tensor& x, std::span<const int> order, Tensor& y);

/// Returns the shape of Tensor::reshaped(), without kAnySize.
/// Throws: ShapeError if the sizes differ.
Shape reshaped(const Shape& from, const Shape& to);

}  // namespace octet
