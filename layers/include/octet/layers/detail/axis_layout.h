// AxisLayout: maps the axes of a logical tensor to those of the stored tensor.
// Transposes and reshapes of the logical tensor change the layout, not the
// stored elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Size of an axis: `factor`, multiplied by the batch size if `batch` is set.
struct Dim {
  int64_t factor = 1;
  bool batch = false;

  bool is_one() const { return factor == 1 && !batch; }
  bool operator==(const Dim&) const = default;
};

/// Operations that convert a stored tensor to the logical tensor, in this
/// order. An operation that changes nothing is empty.
struct Rearrangement {
  std::vector<Dim> split;   ///< reshape the stored tensor to this shape
  std::vector<int> order;   ///< transpose: axis i is axis order[i] of `split`
  std::vector<Dim> joined;  ///< reshape to this shape

  bool operator==(const Rearrangement&) const = default;
};

/// Value type. Every axis, stored or logical, is a product of factors; a factor
/// is the batch or a part of a size.
class AxisLayout {
 public:
  /// The layout of a scalar.
  AxisLayout() = default;
  /// A tensor of these sizes whose axes are stored in `order`: stored axis i is
  /// logical axis order[i]. An empty order is the logical order.
  explicit AxisLayout(std::span<const Dim> dims,
                      std::span<const int> order = {});

  /// Sizes of the logical axes.
  std::vector<Dim> dims() const;
  Dim dim(size_t axis) const;
  /// Sizes of the stored axes.
  const std::vector<Dim>& stored() const { return stored_; }
  /// Number of logical axes.
  size_t rank() const { return axes_.size(); }
  /// Returns the logical axis that contains the batch; nothing if there is
  /// none.
  std::optional<size_t> batch_axis() const;
  /// Returns the product of the factors before the batch in its axis.
  /// REQUIRES: an axis contains the batch.
  int64_t before_batch() const;
  /// Returns the factors of a logical axis, outermost first.
  std::vector<Dim> factors(int axis) const;

  /// Returns the layout of the transposed logical tensor: its axis i is axis
  /// order[i] of this layout.
  AxisLayout transposed(std::span<const int> order) const;
  /// Returns the layout of the reshaped logical tensor; nothing if the new axes
  /// would not be products of factors, or of parts of them.
  std::optional<AxisLayout> reshaped(std::span<const Dim> dims) const;
  /// Returns the layout of the same elements if the stored tensor has these
  /// sizes.
  AxisLayout stored_as(std::span<const Dim> dims) const;
  /// Returns the layout for a batch of one, a factor of 1.
  AxisLayout without_batch() const;
  /// Returns the layout with a batch as first stored axis, which has size 1,
  /// and as first factor of a logical axis. REQUIRES: a layout without_batch().
  AxisLayout with_batch(size_t axis) const;

  /// Whether a reshape of the stored tensor yields the logical one.
  bool in_order() const;
  /// Whether the elements are contiguous in this order of the logical axes.
  bool is_stored_in(std::span<const int> order) const;
  /// Returns the order of the logical axes in memory: transposed() by it is in
  /// order. Returns nothing if an axis is not stored contiguously. Axes of size
  /// 1 follow the axis that precedes them.
  std::optional<std::vector<int>> stored_order() const;
  /// Returns the order of the stored axes for which the layout would be in
  /// order; nothing if there is none.
  std::optional<std::vector<int>> required_order() const;
  /// Returns the operations that compute the logical from the stored tensor.
  Rearrangement rearrangement() const;

  bool operator==(const AxisLayout&) const = default;

 private:
  std::vector<size_t> flattened() const;
  void split_factor(size_t factor, int64_t outer);

  std::vector<Dim> stored_;
  /// Factors of the stored axes, outermost first, without factors of 1.
  std::vector<Dim> factors_;
  /// Indices of the factors of each logical axis, outermost first.
  std::vector<std::vector<size_t>> axes_;
};

}  // namespace octet
