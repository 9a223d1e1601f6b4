// The products that convolutions are made of, image by image: sums over
// windows, their transpose, and the gradient of the weights.
#pragma once

#include <vector>

#include "../autograd/node.h"
#include "convolution_geometry.h"
#include "linear.h"

namespace octet {

/// `e` for what lies `offset` floats on, and for the channels from `channel`;
/// `m` holds its mask and must outlive it.
kernels::Epilogue shifted(const kernels::Epilogue& e, kernels::GradientMask& m,
                          int64_t offset, int64_t channel = 0);

/// A weight seen as [rows][k], k its last axis, as panels of the kernels: each
/// of `groups` equal groups of the columns by itself.
Tensor pack_panels(const Tensor& weight, int64_t groups = 1);

/// Of a padded image whose rows and pixels are so many floats apart.
Windows windows_of(const ConvolutionGeometry& s, int64_t row, int64_t pixel);

/// The same of words of codes.
struct CodeGeometry {
  CodeGeometry(const ConvolutionGeometry& s, const kernels::CodeTable& codes);
  Windows windows_of(const ConvolutionGeometry& s, int64_t words_a_row) const;

  const kernels::CodeTable& table;
  bool possible;       // groups are whole words
  int64_t pixel;       // words of one
  int64_t row;         // and of a padded row
  int64_t panel_rows;  // words of weights of one output channel
};

/// The codes of a weight [taps...][c/groups][k] as {words, what the sums start
/// with}, for images whose code 0 is that byte; empty if there is a NaN, which
/// has no code.
std::vector<Tensor> pack_code_panels(const kernels::CodeTable& table,
                                     const Tensor& codes, int zero_byte,
                                     int64_t groups = 1);

/// The kernel of each phase of the input's gradient, group by group: rows
/// (tap, k), columns c.
std::vector<Tensor> pack_phases(const ConvolutionGeometry& s,
                                const Tensor& weight);

/// Outputs of padded images, the first one's window at `image`: the windows'
/// sums, through `e` (pixel and line are set here). Of groups, all channels.
void convolve(const ConvolutionGeometry& s, const Windows& windows,
              const float* image, const Outputs& outputs, const Tensor& panels,
              kernels::Epilogue e);

/// The same from words of codes.
void convolve_codes(const ConvolutionGeometry& s, const CodeGeometry& words,
                    const Windows& windows, const kernels::CodeWord* image,
                    const Outputs& outputs, const std::vector<Tensor>& panels,
                    kernels::Epilogue e);

/// The transpose: an image of x's shape from a padded one of the output's.
void convolve_transposed(const ConvolutionGeometry& s, const float* dy,
                         const std::vector<Tensor>& packs,
                         const kernels::Epilogue& e);

/// Adds the gradient of `rows` rows of one image's output to dw
/// [kh,kw,c/groups,k]; rows of dy are `dy_width` pixels apart.
void add_weight_gradient(const ConvolutionGeometry& s, int64_t rows,
                         const float* padded, const float* dy, int64_t dy_width,
                         float* dw);
/// The same of all rows, for rows [first, last) of one segment of the windows.
struct WindowRows {
  int64_t segment, first, last;
};
void add_weight_gradient(const ConvolutionGeometry& s, const WindowRows& rows,
                         const float* padded, const float* dy, int64_t dy_width,
                         float* dw);

/// A convolution with a window for each of c channels and `multiplier`
/// outputs of each.
/// Shapes: kernel [kh,kw,c,multiplier] or [kh,kw,1,c*multiplier], without kh
/// for sequences, and with the scales of a weight grid on `axis`. Of `kind`
/// name and axes count.
Variable depthwise(const ConvolutionKind& kind, const Variable& x,
                   const Variable& kernel, int64_t multiplier, int axis,
                   const WindowOptions& options);

}  // namespace octet
