// Shared parts of convolution layers: window, ops and ONNX export.
#pragma once

#include <octet/layers/custom_layer.h>
#include <octet/runtime/variable.h>

#include "base/window.h"

namespace octet {

class ConvolutionWindow : public Window {
 public:
  using Window::Window;

  /// Checks the options. Throws: ValueError for sizes < 1.
  void check() const;
  /// Returns the kernel shape [kh,kw,in,out], for sequences [k,in,out].
  /// Throws: ShapeError if its size overflows.
  Shape kernel(int64_t in, int64_t out) const;
  Variable convolve(const Variable& x, const Variable& kernel,
                    int64_t groups = 1) const;
  Variable convolve_depthwise(const Variable& x, const Variable& kernel) const;
  /// Returns the attributes of Conv.
  OnnxBuilder::Attributes onnx(const Shape& x, int64_t group) const;
};

/// Returns the number of pixels of an image or steps of a sequence, without the
/// batch.
int64_t pixels(const Shape& x);

/// Converts a kernel [kh,kw,c,k] or [k,c,k] to the weight layout of ONNX Conv,
/// outputs first.
Arrangement onnx_convolution_weight(const Parameter& kernel);
/// Converts [kh,kw,c,m] to the weight layout [c*m,1,kh,kw] of ONNX Conv with c
/// groups; for sequences without kh.
Arrangement onnx_depthwise_weight(const Parameter& kernel);

}  // namespace octet
