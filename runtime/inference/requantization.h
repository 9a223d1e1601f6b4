// Requantization by a single multiply-add per sum.
#pragma once

#include <octet/runtime/tensor.h>

#include "kernels/kernels.h"

namespace octet::inference {

/// A multiply-add per channel: q = clip(round(multiplier * sum + offset)).
/// Shapes: both [channels]. A NaN multiplier marks a channel without one; empty
/// if no channel has one.
struct Requantization {
  Tensor multiplier, offset;
};

/// Finds multiply-adds whose q equals that of the epilogue `e.fused` for every
/// sum between -2^31 and 2^31. Epilogues with a function, a second operand or
/// other than one INT8 output have none. Ignores pointers to images.
Requantization find_requantization(const kernels::Epilogue& e, int64_t channels,
                                   const kernels::CodeTable& table);

}  // namespace octet::inference
