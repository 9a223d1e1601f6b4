// Pooling of images [n,h,w,c] and sequences [n,l,c]. Pooling over whole images
// is a reduction: mean(x, {1, 2}) and max(x, {1, 2}), over sequences {1}.
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

/// max_pool2d of sequences. Shapes: [n,l,c] -> [n,ol,c]. Throws: as that.
Variable max_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options);

/// avg_pool2d of sequences. Shapes: [n,l,c] -> [n,ol,c]. Throws: as that.
Variable avg_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options);

}  // namespace octet
