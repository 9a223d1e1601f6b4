// Rows of a tensor: slices of its first axis, which samples are.
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/tensor.h>

namespace octet {

/// The rows at `places`, in their order; one may come several times.
/// Shapes: from [n,...] of any type -> [places,...].
/// REQUIRES: places in [0, n).
Tensor rows_at(const Tensor& from, std::span<const int64_t> places);

}  // namespace octet
