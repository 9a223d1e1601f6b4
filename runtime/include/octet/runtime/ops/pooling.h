// Pooling of images [n,h,w,c] and sequences [n,l,c]. Pooling over whole images
// is a reduction: mean(x, {1, 2}) and max(x, {1, 2}), over sequences {1}.
#pragma once

#include <octet/runtime/ops/window.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Maximum of each window. Padding counts as -infinity; the first of equal
/// maxima gets the gradient. Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ShapeError; ValueError if a window would contain only padding;
/// UnsupportedError for windows of more than kMaxPoolCells pixels.
inline constexpr int64_t kMaxPoolCells = 256;
Variable max_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options);

/// Mean of each window, excluding padding.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ShapeError; ValueError if a window would contain only padding;
/// UnsupportedError for dilation.
Variable avg_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options);

/// max_pool2d for sequences. Shapes: [n,l,c] -> [n,ol,c]. Throws: as
/// max_pool2d.
Variable max_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options);

/// avg_pool2d for sequences. Shapes: [n,l,c] -> [n,ol,c]. Throws: as
/// avg_pool2d.
Variable avg_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options);

}  // namespace octet
