// Tensors in the axis order of another layout. Internal to io.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <octet/layers/detail/axis_layout.h>
#include <octet/layers/graph.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Sizes of a shape; Shape::kAnySize is the batch.
std::vector<Dim> dims_of(const Shape& shape);
Shape shape_of(std::span<const Dim> dims);

/// Returns the order for which transposed(order) is undone.
std::vector<int> inverse_of(std::span<const int> order);

/// Returns the logical tensor of a stored one, by Permute and Reshape layers
/// for symbolic tensors.
SymbolicTensor arranged(const SymbolicTensor& stored, const AxisLayout& layout);
Tensor arranged(const Tensor& stored, const AxisLayout& layout);

/// Returns the layout that converts tensors stored as in `from` to tensors
/// stored as in `to`, of the same logical tensor; nothing if their axes have no
/// common factors.
std::optional<AxisLayout> between(const AxisLayout& from, const AxisLayout& to);

/// Transposes a tensor between axis orders, given as OnnxPort::axes.
Tensor in_axes(const Tensor& x, std::span<const int> from,
               std::span<const int> to);

}  // namespace octet::io
