// Memory layout of convolutions: the runs of the padded input that each output
// sums over, and the same for the input gradient.
//
// A run ("segment") is a range of consecutive floats of a padded image, given
// by its offset from the output's first pixel. Without dilation a kernel row is
// a single run of kw*c floats, so the input is not copied (no im2col). With
// groups each tap is a separate run; in depthwise convolutions too, where only
// its offset matters.
//
// The input gradient of a stride-s convolution splits into s*s dense phases:
// the pixels (ph + i*s, pw + j*s) sum over the same taps of dy.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <octet/runtime/ops.h>

namespace octet {

struct ConvolutionKind {
  std::string_view op = "conv2d";  // for messages
  int axes = 2;                    // 1: sequences, as single-row images
  int64_t groups = 1;
  bool merged = true;  // whether adjacent taps may form a single run

  // For messages.
  const char* input_axes() const { return axes == 1 ? "l" : "h,w"; }
  const char* kernel_axes() const { return axes == 1 ? "kl" : "kh,kw"; }
};

struct ConvolutionGeometry {
  /// Shapes: x [n,h,w,c], kernel [kh,kw,c/groups,k]; for sequences x [n,w,c],
  /// kernel [kw,c/groups,k].
  /// Throws: ShapeError, ValueError.
  ConvolutionGeometry(const Shape& x, const Shape& kernel,
                      const WindowOptions& options,
                      const ConvolutionKind& kind = {});

  struct Phase {
    int64_t h, w;                   // first pixel of the phase
    int64_t rows, cols;             // pixels in it
    std::vector<int64_t> taps;      // kernel taps kh*KW + kw, in packing order
    std::vector<int64_t> segments;  // offsets into the padded dy
    int64_t steps;                  // floats per segment
  };

  Shape output() const {
    return axes == 1 ? Shape{n, ow, k} : Shape{n, oh, ow, k};
  }
  int64_t padded_width() const { return padding.left + w + padding.right; }
  int64_t padded_size() const {
    return (padding.top + h + padding.bottom) * padded_width() * c;
  }
  int64_t dy_width() const { return dy_padding.left + ow + dy_padding.right; }
  int64_t dy_size() const {
    return (dy_padding.top + oh + dy_padding.bottom) * dy_width() * k;
  }
  /// Offset of the first pixel in the padded dy.
  int64_t dy_start() const {
    return (dy_padding.top * dy_width() + dy_padding.left) * k;
  }
  int64_t group_c() const { return c / groups; }
  int64_t group_k() const { return k / groups; }
  int64_t weight_rows() const { return kh * kw * group_c(); }

  /// Receptive field of output rows [first, last): rows of x and the padding
  /// around them. All bands together cover all rows.
  struct InputRows {
    int64_t first, last;
    Pads padding;
    int64_t padded() const {  // total number of rows
      return padding.top + last - first + padding.bottom;
    }
  };
  InputRows input_rows(int64_t first, int64_t last) const;

  int64_t n, h, w, c, kh, kw, k, oh, ow, groups;
  int axes;
  Size2 strides;
  Size2 dilation;
  Pads padding;                   // around x
  std::vector<int64_t> segments;  // into the padded x
  int64_t steps;
  std::vector<Phase> phases;
  Pads dy_padding;  // around dy, for the phases
};

}  // namespace octet
