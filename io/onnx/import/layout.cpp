#include "layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/reshaping.h>
#include <octet/runtime/error.h>

#include "arranged.h"

namespace octet::io::importing {
namespace {

SymbolicTensor with_sample(const SymbolicTensor& tensor,
                           std::span<const Dim> dims, const Namer& name) {
  Sizes sizes;
  for (const Dim& dim : dims) sizes.push_back(dim.factor);
  if (std::ranges::equal(tensor.shape().dims().subspan(1), sizes)) {
    return tensor;
  }
  return Reshape({.target_shape = sizes, .name = name("reshape")})(tensor);
}

/// REQUIRES: the new sizes contain the factors of the old ones in order.
AxisLayout with_dims(const AxisLayout& layout, const Dims& dims) {
  std::optional<AxisLayout> result = layout.reshaped(dims);
  if (!result) throw InternalError("internal", "ONNX import", "axes differ");
  return *std::move(result);
}

}  // namespace

Dims fixed_dims(std::span<const int64_t> sizes) {
  Dims dims;
  for (const int64_t size : sizes) dims.push_back({size, false});
  return dims;
}

std::optional<Dim> product(std::span<const Dim> dims) {
  Dim result;
  for (const Dim& dim : dims) {
    if (dim.factor < 1 || (dim.batch && result.batch) ||
        __builtin_mul_overflow(result.factor, dim.factor, &result.factor)) {
      return std::nullopt;
    }
    result.batch |= dim.batch;
  }
  return result;
}

std::string text_of(std::span<const Dim> dims) {
  std::vector<std::string> sizes;
  for (const Dim& dim : dims) {
    sizes.push_back(!dim.batch        ? std::to_string(dim.factor)
                    : dim.factor == 1 ? "N"
                                      : fmt::format("N*{}", dim.factor));
  }
  return fmt::format("[{}]", fmt::join(sizes, ","));
}

bool ImportedValue::has_batch(int axis) const {
  return layout.batch_axis() == static_cast<size_t>(axis);
}

bool ImportedValue::samples_lead() const {
  return rank() > 0 && layout.dim(0) == kBatch;
}

int64_t ImportedValue::sample_size() const {
  int64_t size = 1;
  for (const Dim& dim : layout.stored()) size *= dim.factor;
  return size;
}

ImportedValue ImportedValue::with(AxisLayout other) const {
  return {tensor, std::move(other), qparams};
}

AxisLayout layout_of(const SymbolicTensor& tensor, std::span<const int> order) {
  const Dims stored = dims_of(tensor.shape());
  Dims dims(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    dims[static_cast<size_t>(order[i])] = stored[i];
  }
  return AxisLayout(dims, order);
}

ImportedValue value_of(const SymbolicTensor& tensor,
                       std::span<const int> order) {
  return {tensor, layout_of(tensor, order)};
}

ImportedValue value_of(const SymbolicTensor& tensor, const AxisLayout& layout) {
  return {tensor, layout.stored_as(dims_of(tensor.shape()))};
}

AxisLayout sample_of(const AxisLayout& layout) {
  return without_axes(layout.without_batch(), std::array<int64_t, 1>{0});
}

AxisLayout with_axes(const AxisLayout& layout, std::span<const int64_t> axes) {
  Dims dims = layout.dims();
  for (const int64_t axis : axes) dims.insert(dims.begin() + axis, Dim());
  return with_dims(layout, dims);
}

AxisLayout without_axes(const AxisLayout& layout,
                        std::span<const int64_t> axes) {
  const Dims all = layout.dims();
  Dims dims;
  for (size_t axis = 0; axis < all.size(); ++axis) {
    if (std::ranges::find(axes, static_cast<int64_t>(axis)) == axes.end()) {
      dims.push_back(all[axis]);
    }
  }
  return with_dims(layout, dims);
}

AxisLayout with_merged_axes(const AxisLayout& layout, int axis) {
  Dims dims = layout.dims();
  const auto first = dims.begin() + axis;
  *first = *product(std::span(first, dims.end()));
  dims.erase(first + 1, dims.end());
  return with_dims(layout, dims);
}

AxisLayout with_leading_batch(const AxisLayout& layout) {
  const bool leads = layout.rank() > 1 && !layout.batch_axis() &&
                     layout.dims().front().is_one();
  return leads ? layout.with_batch(0) : layout;
}

bool same_batch_position(const ImportedValue& a, const ImportedValue& b) {
  const auto axis = a.layout.batch_axis();
  if (axis != b.layout.batch_axis()) return false;
  return !axis || (a.dims()[*axis] == b.dims()[*axis] &&
                   a.layout.before_batch() == b.layout.before_batch());
}

LayerAxes::LayerAxes(const ImportedValue& x, std::vector<int> axis_order)
    : value(x),
      order(std::move(axis_order)),
      is_sample_(!x.layout.batch_axis()) {
  if (is_sample_) {
    added_ = 1;
    value.layout = with_axes(x.layout, std::array<int64_t, 1>{0}).with_batch(0);
    return;
  }
  batch_ = *x.layout.batch_axis();
  Dims dims = x.dims();
  const auto at = dims.begin() + static_cast<std::ptrdiff_t>(batch_);
  if (*at == kBatch) return;
  const int64_t before = x.layout.before_batch();
  Dims parts{{before}, kBatch, {at->factor / before}};
  std::erase_if(parts, [](const Dim& dim) { return dim.is_one(); });
  added_ = parts.size() - 1;
  dims.insert(dims.erase(at), parts.begin(), parts.end());
  value.layout = with_dims(x.layout, dims);
}

LayerAxes::LayerAxes(const ImportedValue& x)
    : LayerAxes(x, std::vector<int>()) {
  order = natural_order(value);
}

LayerAxes::LayerAxes(const ImportedValue& x, int last)
    : LayerAxes(x, std::vector<int>()) {
  order =
      axis_first(value.rank(), static_cast<int>(*value.layout.batch_axis()));
  order.erase(std::ranges::find(order, moved(last)));
  order.push_back(static_cast<int>(moved(last)));
}

int64_t LayerAxes::moved(int64_t axis) const {
  const bool behind = is_sample_ || std::cmp_greater(axis, batch_);
  return axis + (behind ? static_cast<int64_t>(added_) : 0);
}

int64_t LayerAxes::position(int64_t axis) const {
  return std::ranges::find(order, moved(axis)) - order.begin();
}

Shape LayerAxes::sample() const {
  const Dims dims = value.dims();
  Sizes sizes;
  for (const int axis : std::span(order).subspan(1)) {
    sizes.push_back(dims[static_cast<size_t>(axis)].factor);
  }
  return Shape(std::span<const int64_t>(sizes));
}

Tensor LayerAxes::in_order(const Tensor& constant) const {
  Sizes dims(constant.shape().dims().begin(), constant.shape().dims().end());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(batch_), added_, 1);
  const Tensor result = constant.reshaped(Shape(std::span<const int64_t>(dims)))
                            .transposed(order);
  return result.reshaped(result.shape().slice(1, result.shape().rank()));
}

ImportedValue LayerAxes::back(const SymbolicTensor& y,
                              std::span<const int64_t> lacking) const {
  const Dims stored = dims_of(y.shape());
  Dims dims(order.size());
  size_t next = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (std::ranges::find(lacking, static_cast<int64_t>(i)) != lacking.end()) {
      continue;
    }
    dims[static_cast<size_t>(order[i])] = stored.at(next++);
  }
  const AxisLayout layout = AxisLayout(dims, order).stored_as(stored);
  if (is_sample_) {
    return {y, sample_of(layout)};
  }
  const auto first = dims.begin() + static_cast<std::ptrdiff_t>(batch_);
  const auto end = first + static_cast<std::ptrdiff_t>(added_) + 1;
  *first = *product(std::span(first, end));
  dims.erase(first + 1, end);
  return {y, added_ == 0 ? layout : with_dims(layout, dims)};
}

SymbolicTensor materialize(const ImportedValue& x, std::span<const int> order,
                           const Namer& name) {
  if (order.size() != x.layout.rank()) {
    throw UnsupportedError(
        "unsupported_operator", "",
        fmt::format("input must have {} axes, got {}", order.size(), x.text()));
  }
  if (has_layout(x, order)) return x.tensor;
  const AxisLayout wanted = x.layout.transposed(order);
  const Dims dims = wanted.dims();
  if (dims.front() != kBatch) {
    throw UnsupportedError("unsupported_operator", "",
                           fmt::format("input must have the batch on axis {}, "
                                       "got {}",
                                       order[0], x.text()));
  }
  const Rearrangement moves = wanted.without_batch().rearrangement();
  SymbolicTensor y = x.tensor;
  if (!moves.order.empty()) {
    if (moves.split.size() >= Shape::kMaxRank) {
      throw UnsupportedError(
          "unsupported_operator", "",
          fmt::format("axis order of the input must have at most {} pieces, "
                      "got {}",
                      static_cast<int>(Shape::kMaxRank) - 1,
                      moves.split.size()));
    }
    y = with_sample(y, moves.split, name);
    Sizes axes;  // of a tensor with the batch
    for (const int axis : moves.order) axes.push_back(axis + 1);
    y = Permute({.dims = axes, .name = name("permute")})(y);
  }
  return with_sample(y, std::span(dims).subspan(1), name);
}

bool has_layout(const ImportedValue& x, std::span<const int> order) {
  const Shape& shape = x.tensor.shape();
  if (std::cmp_not_equal(order.size(), shape.rank()) ||
      order.size() != x.layout.rank()) {
    return false;
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const Dim size = i == 0 ? kBatch : Dim{shape[static_cast<int>(i)], false};
    if (x.layout.dim(static_cast<size_t>(order[i])) != size) return false;
  }
  return x.layout.is_stored_in(order);
}

std::vector<int> natural_order(const ImportedValue& x) {
  const int rank = x.rank();
  const std::vector<int> last = channels_last(rank);
  const std::vector<int> file = file_order(rank);
  if ((rank == 3 || rank == 4) && has_layout(x, last)) {
    // With a single row or channel, both orders are equivalent.
    return rank == 3 && has_layout(x, file) ? file : last;
  }
  std::vector<int> order =
      axis_first(rank, static_cast<int>(*x.layout.batch_axis()));
  if (has_layout(x, order)) return order;
  const auto stored = x.layout.stored_order();
  return stored && has_layout(x, *stored) ? *stored : order;
}

std::vector<int> axis_first(int rank, int axis) {
  std::vector<int> order = file_order(rank);
  std::rotate(order.begin(), order.begin() + axis, order.begin() + axis + 1);
  return order;
}

std::vector<int> channels_last(int rank) {
  std::vector<int> order{0};
  for (int axis = 2; axis < rank; ++axis) order.push_back(axis);
  if (rank > 1) order.push_back(1);
  return order;
}

std::vector<int> file_order(int rank) {
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

Tensor rows_as_in(const ImportedValue& x, const Tensor& weight) {
  const Rearrangement moves = x.layout.without_batch().rearrangement();
  if (moves.order.empty()) return weight;
  const size_t count = moves.order.size();
  if (count >= Shape::kMaxRank) {
    throw UnsupportedError("unsupported_operator", "",
                           "order of the input's features is too complex");
  }
  Sizes rows;
  for (const int block : moves.order) {
    rows.push_back(moves.split[static_cast<size_t>(block)].factor);
  }
  std::vector<int> stored = inverse_of(moves.order);
  stored.push_back(static_cast<int>(count));
  rows.push_back(weight.size() / weight.shape()[0]);
  return weight.reshaped(Shape(std::span<const int64_t>(rows)))
      .transposed(stored)
      .reshaped(weight.shape());
}

}  // namespace octet::io::importing
