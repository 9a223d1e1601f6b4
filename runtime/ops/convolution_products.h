// The products that convolutions are made of, image by image: sums over
// windows, their transpose, and the gradient of the weights.
#pragma once

#include <vector>

#include "../autograd/node.h"
#include "convolution_geometry.h"
#include "weights.h"

namespace octet {

/// Sizes of the partial weight gradients, one a chunk of images, that are
/// added in order. Large kernels get fewer, to bound the memory.
int64_t gradient_chunks(int64_t images, int64_t weights);

/// The sum of the partial gradients [chunks][...], as `shape`.
Tensor sum_of_chunks(const Tensor& partial, const Shape& shape);

/// `e` for a part of the image that begins `offset` floats in, and for the
/// channels from `channel` on; `m` holds its mask and must outlive it.
kernels::Epilogue part_of(const kernels::Epilogue& e, kernels::GradientMask& m,
                          int64_t offset, int64_t channel = 0);

/// The kernel of each phase of the input's gradient, group by group: rows
/// (tap, k), columns c.
std::vector<Tensor> pack_phases(const ConvolutionGeometry& s,
                                const Tensor& weight);

/// One image from its bordered input: the windows' sums, through `e` whose
/// pointers are the image's (pixel and line are set here).
void convolve(const ConvolutionGeometry& s, const float* padded,
              const Tensor& panels, kernels::Epilogue e);

/// The transpose: an image of x's shape from a bordered one of the output's.
void convolve_transposed(const ConvolutionGeometry& s, const float* dz,
                         const std::vector<Tensor>& packs,
                         const kernels::Epilogue& e);

/// Adds one image's part to dw [kh,kw,c/groups,k]; rows of dz are `dz_width`
/// pixels apart.
void add_weight_gradient(const ConvolutionGeometry& s, const float* padded,
                         const float* dz, int64_t dz_width, float* dw);

/// A convolution with a window for each of c channels and `multiplier`
/// outputs of each.
/// Shapes: kernel [kh,kw,c,multiplier] or [kh,kw,1,c*multiplier], with the
/// scales of a weight grid on `axis`.
Variable depthwise(std::string_view op, const Variable& x,
                   const Variable& kernel, int64_t multiplier, int axis,
                   const WindowOptions& options);

}  // namespace octet
