// AxisLayout: which axes of a logical tensor are stored where. Transposes and
// reshapes of a logical tensor change its layout, not the stored elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <octet/runtime/language.h>

namespace octet {

/// Size of an axis: `factor`, multiplied by the batch size if `batch` is set.
struct Dim {
  int64_t factor = 1;
  bool batch = false;

  bool is_one() const { return factor == 1 && !batch; }
  bool operator==(const Dim&) const = default;
};

/// The operations that turn a stored tensor into a logical one. Steps that
/// change nothing are empty.
struct Rearrangement {
  std::vector<Dim> split;   ///< reshape the stored tensor to this shape,
  std::vector<int> order;   ///< transpose: axis i is axis order[i] of `split`,
  std::vector<Dim> joined;  ///< reshape to this shape

  bool operator==(const Rearrangement&) const = default;
};

class AxisLayout {
 public:
  /// A tensor of these sizes whose axes are stored in `order`: stored axis i is
  /// logical axis order[i]. An empty order is the logical order.
  explicit AxisLayout(std::span<const Dim> dims,
                      std::span<const int> order = {});

  int rank() const { return static_cast<int>(axes_.size()); }
  /// Sizes of the logical axes.
  std::vector<Dim> dims() const;
  /// Sizes of the stored axes.
  const std::vector<Dim>& stored() const { return stored_; }
  /// Factors of the stored axes, in their order. Factors of 1 are omitted.
  const std::vector<Dim>& factors() const { return factors_; }
  /// For each logical axis the indices of its factors, outermost first.
  const std::vector<std::vector<size_t>>& axes() const { return axes_; }

  /// Logical axis i becomes axis order[i] of this layout.
  AxisLayout transposed(std::span<const int> order) const;
  /// The same elements with other sizes. Returns nothing if an axis would have
  /// to be split between two factors.
  std::optional<AxisLayout> reshaped(std::span<const Dim> dims) const;

  /// Whether a reshape of the stored tensor yields the logical one.
  bool in_order() const;
  /// Returns the order of the logical axes in which they are stored if every
  /// axis is stored contiguously: transposed() by it is in order. Axes of size
  /// 1 follow the axis that precedes them.
  std::optional<std::vector<int>> stored_order() const;
  /// Returns the order of the stored axes in which the tensor would have to be
  /// stored to be in order, if there is one.
  std::optional<std::vector<int>> required_order() const;
  /// Returns the operations that compute the logical tensor.
  Rearrangement rearrangement() const;

 private:
  std::vector<size_t> flattened() const;
  void split_factor(size_t factor, int64_t outer);

  std::vector<Dim> stored_;
  std::vector<Dim> factors_;
  std::vector<std::vector<size_t>> axes_;
};

}  // namespace octet
