// What the convolution layers share: the window that slides over the image,
// its checks, its geometry and its ONNX attributes.
#pragma once

#include <octet/layers/onnx_builder.h>
#include <octet/layers/padding.h>

namespace octet {

struct ConvolutionWindow {
  Size2 kernel_size;
  Size2 strides;
  Padding padding;
  Size2 dilation_rate;

  /// Throws: ValueError for sizes < 1.
  void check() const;
  /// On images [n,h,w,c].
  WindowOptions on(const Shape& x) const;
  /// Throws: ShapeError if the kernel does not fit.
  Shape output_shape(const Shape& x, int64_t channels) const;
  /// Attributes of Conv.
  OnnxBuilder::Attributes onnx(const Shape& x, int64_t group) const;
  int64_t cells() const { return kernel_size.h * kernel_size.w; }
};

/// [kh,kw,c,m] to ONNX' weight of a Conv with c groups, [c*m,1,kh,kw].
Tensor onnx_depthwise_weight(const Tensor& kernel);

}  // namespace octet
