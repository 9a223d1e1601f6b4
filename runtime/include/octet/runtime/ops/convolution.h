// Convolutions of images [n,h,w,c] and sequences [n,l,c].
#pragma once

#include <octet/runtime/ops/window.h>
#include <octet/runtime/variable.h>

namespace octet {

/// 2-D cross-correlation, zero padded. With groups, each of that many equal
/// parts of the outputs sees its own part of the channels.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c/groups,k] -> [n,oh,ow,k].
/// Where x and the kernel both lie on an integer grid, the codes themselves
/// are multiplied, exactly, while the largest code of x times sum|q_w| is at
/// most 2^24.
/// Throws: ShapeError, ValueError.
Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options = {}, int64_t groups = 1);

/// The transpose of conv2d: what its gradient does to the gradient of its
/// output, where its input was an image of the size `output`. (Which size
/// cannot be told from x: with strides, several give the same x.) Codes are
/// multiplied as by conv2d, with the scales of the kernel on axis 2.
/// Shapes: x [n,h,w,c], kernel [kh,kw,k,c] -> [n,output.h,output.w,k].
/// Throws: ShapeError, also where conv2d would not take `output` to x's size;
/// ValueError.
Variable conv2d_transpose(const Variable& x, const Variable& kernel,
                          Size2 output, const WindowOptions& options = {});

/// 2-D cross-correlation of each channel by itself: output c*m + i is channel
/// c under its i-th window. Codes are multiplied as by conv2d, with the scales
/// of the kernel on axis 2.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c,m] -> [n,oh,ow,c*m].
/// Throws: ShapeError, ValueError.
Variable depthwise_conv2d(const Variable& x, const Variable& kernel,
                          const WindowOptions& options = {});

/// conv2d of sequences, by the same kernels.
/// Shapes: x [n,l,c], kernel [kl,c/groups,k] -> [n,ol,k].
/// Throws: ShapeError, ValueError.
Variable conv1d(const Variable& x, const Variable& kernel,
                const WindowOptions1D& options = {}, int64_t groups = 1);

/// depthwise_conv2d of sequences; the scales of the kernel are on axis 1.
/// Shapes: x [n,l,c], kernel [kl,c,m] -> [n,ol,c*m].
/// Throws: ShapeError, ValueError.
Variable depthwise_conv1d(const Variable& x, const Variable& kernel,
                          const WindowOptions1D& options = {});

}  // namespace octet
