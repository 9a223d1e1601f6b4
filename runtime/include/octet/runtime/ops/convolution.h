// Convolutions of images [n,h,w,c] and sequences [n,l,c].
#pragma once

#include <octet/runtime/ops/window.h>
#include <octet/runtime/variable.h>

namespace octet {

/// 2-D cross-correlation with zero padding. With groups, channels and outputs
/// are split into that many independent parts.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c/groups,k] -> [n,oh,ow,k].
/// If x and the kernel are both quantized, their quantized values are
/// multiplied, exactly while max|q_x| * sum|q_w| is at most 2^24.
/// Throws: ShapeError, ValueError.
Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options = {}, int64_t groups = 1);

/// The transpose of conv2d: maps x as conv2d's input gradient maps the gradient
/// of its output, for an image of size `output`. (With strides, several sizes
/// are possible.) Quantized values are multiplied as in conv2d, with the scales
/// of the kernel on axis 2; with groups only if they have one scale.
/// Shapes: x [n,h,w,c], kernel [kh,kw,k/groups,c] -> [n,output.h,output.w,k].
/// Throws: ShapeError, also if conv2d does not map `output` to the size of x;
/// ValueError.
Variable conv2d_transpose(const Variable& x, const Variable& kernel,
                          Size2 output, const WindowOptions& options = {},
                          int64_t groups = 1);

/// 2-D cross-correlation per channel: output c*m + i is channel c filtered with
/// its i-th window. Quantized values are multiplied as in conv2d, with the
/// scales of the kernel on axis 2.
/// Shapes: x [n,h,w,c], kernel [kh,kw,c,m] -> [n,oh,ow,c*m].
/// Throws: ShapeError, ValueError.
Variable depthwise_conv2d(const Variable& x, const Variable& kernel,
                          const WindowOptions& options = {});

/// conv2d for sequences, with the same kernels.
/// Shapes: x [n,l,c], kernel [kl,c/groups,k] -> [n,ol,k].
/// Throws: ShapeError, ValueError.
Variable conv1d(const Variable& x, const Variable& kernel,
                const WindowOptions1D& options = {}, int64_t groups = 1);

/// depthwise_conv2d for sequences; the scales of the kernel are on axis 1.
/// Shapes: x [n,l,c], kernel [kl,c,m] -> [n,ol,c*m].
/// Throws: ShapeError, ValueError.
Variable depthwise_conv1d(const Variable& x, const Variable& kernel,
                          const WindowOptions1D& options = {});

}  // namespace octet
