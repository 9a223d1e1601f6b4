// Convolutions of images [n,h,w,c].
#pragma once

#include <octet/runtime/ops/window.h>
#include <octet/runtime/variable.h>

namespace octet {

/// 2-D cross-correlation, zero padded.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c,k] -> [n,oh,ow,k].
/// Where x and the kernel both lie on an integer grid, the codes themselves
/// are multiplied, exactly, while 128 * sum|q_w| <= 2^24.
/// Throws: ShapeError.
Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options = {});

}  // namespace octet
