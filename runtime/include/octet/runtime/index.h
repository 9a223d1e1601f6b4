// Parts of a tensor by their places on each axis, as Python and PyTorch write
// them: x[:, 1:, 0] is x.index({Slice(), Slice(1), 0}).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/shape.h>

namespace octet {

/// start:stop:step of one axis, the stop not included. Negative ends count
/// from the end of the axis; what is not given is all there is that way.
struct Slice {
  std::optional<int64_t> start;
  std::optional<int64_t> stop;
  int64_t step = 1;

  /// Throws: ValueError for step 0.
  explicit Slice(std::optional<int64_t> from = {},
                 std::optional<int64_t> to = {}, int64_t by = 1);
  bool operator==(const Slice&) const = default;
};

/// What is taken of an axis: one entry, and the axis goes; some of them; or,
/// as "...", everything of all axes that the others leave.
class Index {
 public:
  enum class Kind { entry, slice, ellipsis };

  Index(std::integral auto entry) : entry_(static_cast<int64_t>(entry)) {}
  Index(bool) = delete;
  Index(const Slice& slice) : kind_(Kind::slice), slice_(slice) {}
  /// Throws: ValueError for another text than "...".
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

/// Entries of one axis: first, first + step, ..., `count` of them.
struct AxisPart {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
  bool dropped = false;  ///< one entry, of an axis that goes
};

/// What indices mean for a shape, one part for each of its axes. Slices beyond
/// the ends are cut to what is there, as in Python.
/// Throws: ShapeError for more indices than axes, or an entry that is not
/// there; ValueError for two ellipses.
std::vector<AxisPart> parts_of(const Shape& shape,
                               std::span<const Index> indices);

}  // namespace octet
