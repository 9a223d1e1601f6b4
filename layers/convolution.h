// What the convolution layers share: their window, with the ops and the ONNX
// form of a convolution.
#pragma once

#include <octet/layers/onnx_builder.h>
#include <octet/runtime/variable.h>

#include "window.h"

namespace octet {

class ConvolutionWindow : public Window {
 public:
  using Window::Window;

  /// Throws: ValueError for sizes < 1.
  void check() const;
  /// [kh,kw,in,out], of sequences [k,in,out]. Throws: ShapeError for one too
  /// large to count.
  Shape kernel(int64_t in, int64_t out) const;
  Variable convolve(const Variable& x, const Variable& kernel,
                    int64_t groups = 1) const;
  Variable convolve_depthwise(const Variable& x, const Variable& kernel) const;
  /// Attributes of Conv.
  OnnxBuilder::Attributes onnx(const Shape& x, int64_t group) const;
};

/// Of an image or a sequence: how many pixels, without the batch.
int64_t pixels(const Shape& x);

/// A kernel [kh,kw,c,k] or [k,c,k] as ONNX' weight of a Conv, with the outputs
/// first.
Arrangement onnx_convolution_weight(const Parameter& kernel);
/// [kh,kw,c,m] as ONNX' weight of a Conv with c groups, [c*m,1,kh,kw]; of
/// sequences without kh.
Arrangement onnx_depthwise_weight(const Parameter& kernel);

}  // namespace octet
