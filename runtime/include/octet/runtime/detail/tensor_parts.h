// Parts of tensors: entries that indices select, and rows, which are slices of
// the first axis, such as samples.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/ops/nn.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Entries of an axis: first, first + step, ..., `count` of them.
struct AxisPart {
  int64_t first = 0;     ///< index of the first entry
  int64_t count = 0;     ///< number of entries
  int64_t step = 1;      ///< distance between entries; negative: backwards
  bool dropped = false;  ///< a single entry; the result lacks the axis
};

/// Resolves indices against a shape: an AxisPart per axis. Slices are clipped
/// to the axis, as in Python.
/// Throws: ShapeError for more indices than axes or an entry out of range;
/// ValueError for two ellipses.
std::vector<AxisPart> parts_of(const Shape& shape,
                               std::span<const Index> indices);

/// Returns the entries of an axis of size `size` that pad() copies.
std::vector<int64_t> padded_entries(int64_t size, const Ends& ends,
                                    const std::string& mode);

/// Returns the rows at `places`, in that order. Indices may repeat.
/// Shapes: from [n,...] of any type -> [places,...].
/// REQUIRES: places in [0, n).
Tensor rows_at(const Tensor& from, std::span<const int64_t> places);

}  // namespace octet
