// Building blocks of convolutions, per image: sums over windows, their
// transpose, and the weight gradient.
#pragma once

#include <vector>

#include "autograd/node.h"
#include "convolution_geometry.h"
#include "linear.h"

namespace octet {

/// Returns `e` at offset `offset` (in floats), for channels from `channel`; `m`
/// stores its mask and must outlive it.
kernels::Epilogue shifted(const kernels::Epilogue& e, kernels::GradientMask& m,
                          int64_t offset, int64_t channel = 0);

/// Packs a matrix, in parallel if it is large.
void pack_by_threads(const kernels::WeightPanels& all);

/// Packs a weight viewed as [rows][k], k its last axis, into kernel panels;
/// each of `groups` equal column groups separately.
Tensor pack_panels(const Tensor& weight, int64_t groups = 1);

/// WindowStrides of a padded image with the given strides of rows and pixels.
WindowStrides windows_of(const ConvolutionGeometry& s, int64_t row,
                         int64_t pixel);

/// Layout of a convolution on packed quantized values.
struct CodeGeometry {
  CodeGeometry(const ConvolutionGeometry& s, const kernels::CodeTable& codes);
  WindowStrides windows_of(const ConvolutionGeometry& s, int64_t words_a_row,
                           int64_t words_a_pixel) const;

  const kernels::CodeTable& table;
  bool possible;       // groups fill whole words
  int64_t pixel;       // words per pixel
  int64_t row;         // words per padded row
  int64_t panel_rows;  // words of weights per output channel
};

/// Packs the quantized values of a weight [taps...][c/groups][k] into {words,
/// initial sums}, for activations with byte `zero_byte` for 0; empty if there
/// is NaN, which has no quantized value.
std::vector<Tensor> pack_code_panels(const kernels::CodeTable& table,
                                     const Tensor& codes, int zero_byte,
                                     int64_t groups = 1);

/// Packs the kernel of each phase of the input gradient, by groups: rows (tap,
/// k), columns c.
std::vector<Tensor> pack_phases(const ConvolutionGeometry& s,
                                const Tensor& weight);

/// The same for activations with byte `zero_byte` for 0, as quantized values:
/// {words, initial sums} of each phase. Requires groups == 1.
std::vector<Tensor> pack_code_phases(const ConvolutionGeometry& s,
                                     const kernels::CodeTable& table,
                                     const Tensor& codes, int zero_byte);

/// Windows of all phases in a padded dy with the given strides of rows and
/// pixels, a segment of `steps` elements per tap.
WindowStrides phase_windows(const ConvolutionGeometry& s, int64_t row,
                            int64_t pixel, int64_t steps);

/// Computes outputs of a padded image, whose first window is at `image`,
/// through the epilogue `e` (pixel and line are set here). With groups, all
/// channels.
void convolve(const ConvolutionGeometry& s, const WindowStrides& windows,
              const float* image, const OutputTile& outputs,
              const Tensor& panels, kernels::Epilogue e);

/// convolve() on packed quantized values.
void convolve_codes(const ConvolutionGeometry& s, const CodeGeometry& words,
                    const WindowStrides& windows,
                    const kernels::CodeWord* image, const OutputTile& outputs,
                    const std::vector<Tensor>& panels, kernels::Epilogue e);

/// The transpose of convolve(): an image of x's shape from a padded dy.
void convolve_transposed(const ConvolutionGeometry& s, const float* dy,
                         const std::vector<Tensor>& packs,
                         const kernels::Epilogue& e);
/// The same with phase_windows() for rows of the image, whose first is a
/// multiple of the stride.
void convolve_transposed(const ConvolutionGeometry& s,
                         const WindowStrides& windows, const float* dy,
                         const OutputTile& outputs,
                         const std::vector<Tensor>& packs,
                         const kernels::Epilogue& e);
/// The same on packed quantized values.
void convolve_transposed_codes(const ConvolutionGeometry& s,
                               const kernels::CodeTable& table,
                               const WindowStrides& windows,
                               const kernels::CodeWord* dy,
                               const OutputTile& outputs,
                               const std::vector<Tensor>& packs,
                               const kernels::Epilogue& e);

/// Adds the weight gradient of `rows` output rows of an image to dw
/// [kh,kw,c/groups,k]; rows of dy are `dy_width` pixels apart.
void add_weight_gradient(const ConvolutionGeometry& s, int64_t rows,
                         const float* padded, const float* dy, int64_t dy_width,
                         float* dw);
/// Restricted to rows [first, last) of a window segment, over all output rows.
struct WindowRows {
  int64_t segment, first, last;
};
void add_weight_gradient(const ConvolutionGeometry& s, const WindowRows& rows,
                         const float* padded, const float* dy, int64_t dy_width,
                         float* dw);

/// Depthwise convolution with `multiplier` outputs for each of c channels.
/// Shapes: kernel [kh,kw,c,multiplier] or [kh,kw,1,c*multiplier], for sequences
/// without kh; per-channel weight scales are on `axis`. Uses name and axes of
/// `kind`.
Variable depthwise(const ConvolutionKind& kind, const Variable& x,
                   const Variable& kernel, int64_t multiplier, int axis,
                   const WindowOptions& options);

}  // namespace octet
