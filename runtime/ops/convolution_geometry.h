// Where the operands of a convolution lie: which runs of the padded input
// each output sums over, and the same for the gradient of the input.
//
// A run ("segment") is a stretch of consecutive floats of a padded image,
// named by its offset from the output's first cell. Without dilation a kernel
// row is one run of kw*c floats, so no copy of the input (im2col) is needed.
//
// The gradient of the input of a stride-s convolution falls into s*s dense
// phases: the pixels (ph + i*s, pw + j*s) all sum over the same taps of dz.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/runtime/ops.h>

#include "../autograd/expression.h"

namespace octet {

struct ConvolutionGeometry {
  /// Throws: ShapeError, ValueError.
  ConvolutionGeometry(const Shape& x, const Shape& kernel,
                      const WindowOptions& options);

  struct Phase {
    int64_t h, w;                   // first pixel of the phase
    int64_t rows, cols;             // pixels in it
    std::vector<int64_t> taps;      // kernel cells kh*KW + kw, in packing order
    std::vector<int64_t> segments;  // offsets into the bordered dz
    int64_t steps;                  // floats per segment
  };

  Shape output() const { return {n, oh, ow, k}; }
  int64_t padded_width() const { return border.left + w + border.right; }
  int64_t padded_size() const {
    return (border.top + h + border.bottom) * padded_width() * c;
  }
  int64_t dz_width() const { return dz_border.left + ow + dz_border.right; }
  int64_t dz_size() const {
    return (dz_border.top + oh + dz_border.bottom) * dz_width() * k;
  }
  int64_t weight_rows() const { return kh * kw * c; }

  int64_t n, h, w, c, kh, kw, k, oh, ow;
  Size2 strides;
  autograd::Border border;        // around x
  std::vector<int64_t> segments;  // into the bordered x
  int64_t steps;
  std::vector<Phase> phases;
  autograd::Border dz_border;  // around dz, for the phases
};

}  // namespace octet
