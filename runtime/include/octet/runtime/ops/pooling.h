// Pooling of images [n,h,w,c]. Pooling over whole images is a reduction:
// mean(x, {1, 2}) and max(x, {1, 2}).
#pragma once

#include <octet/runtime/ops/window.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Largest value of each window; padding counts as -infinity and the first
/// of equal values gets the gradient. Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ShapeError; ValueError where a window holds padding only;
/// UnsupportedError for a window of more than kMaxPoolCells cells.
inline constexpr int64_t kMaxPoolCells = 256;
Variable max_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options);

/// Mean of each window's cells; padding is not counted.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ShapeError; ValueError where a window holds padding only;
/// UnsupportedError for dilation.
Variable avg_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options);

}  // namespace octet
