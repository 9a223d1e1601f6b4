// Rows of a tensor: slices of its first axis, such as samples.
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/tensor.h>

namespace octet {

/// Returns the rows at `places`, in that order. Indices may repeat.
/// Shapes: from [n,...] of any type -> [places,...].
/// REQUIRES: places in [0, n).
Tensor rows_at(const Tensor& from, std::span<const int64_t> places);

}  // namespace octet
