// Indexing of tensors as in Python and PyTorch: x[:, 1:, 0] is
// x.index({Slice(), Slice(1), 0}).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/shape.h>

namespace octet {

/// start:stop:step along an axis, stop excluded. Negative bounds count from the
/// end of the axis; missing bounds are the ends of the axis.
struct Slice {
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
  int64_t step = 1;

  /// Selects [from, to) in steps of `by`, as in Python.
  /// Throws: ValueError for step 0.
  explicit Slice(std::optional<int64_t> from = {},
                 std::optional<int64_t> to = {}, int64_t by = 1);
  bool operator==(const Slice&) const = default;
};

/// Selection along an axis: an entry (which drops the axis), a slice, or "...",
/// which selects all remaining axes.
class Index {
 public:
  enum class Kind { entry, slice, ellipsis };

  Index(std::integral auto entry) : entry_(static_cast<int64_t>(entry)) {}
  Index(bool) = delete;
  Index(const Slice& slice) : kind_(Kind::slice), slice_(slice) {}
  /// Creates an ellipsis.
  /// Throws: ValueError for text other than "...".
  Index(std::string_view ellipsis);
  Index(const char* ellipsis) : Index(std::string_view(ellipsis)) {}

  Kind kind() const { return kind_; }
  int64_t entry() const { return entry_; }
  const Slice& slice() const { return slice_; }
  bool operator==(const Index&) const = default;

 private:
  Kind kind_ = Kind::entry;
  int64_t entry_ = 0;
  Slice slice_;
};

/// Entries of an axis: first, first + step, ..., `count` of them.
struct AxisPart {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
  bool dropped = false;  ///< a single entry; the result lacks the axis
};

/// Resolves indices against a shape: an AxisPart per axis. Slices are clipped
/// to the axis, as in Python.
/// Throws: ShapeError for more indices than axes or an entry out of range;
/// ValueError for two ellipses.
std::vector<AxisPart> parts_of(const Shape& shape,
                               std::span<const Index> indices);

}  // namespace octet
