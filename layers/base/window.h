// Sliding windows over images [n,h,w,c] or sequences [n,l,c], for layers:
// sizes, checks, geometry and ONNX attributes. A sequence is an image with a
// single row.
#pragma once

#include <octet/layers/convolution.h>
#include <octet/layers/custom_layer.h>

namespace octet {

class Window {
 public:
  /// Over images.
  constexpr Window(Size2 window, Size2 stride, Padding padding, Size2 dilation)
      : axes_(2),
        size_(window),
        strides_(stride),
        dilation_(dilation),
        padding_(padding) {}
  /// Over sequences.
  constexpr Window(Size1 window, Size1 stride, Padding1D padding,
                   Size1 dilation)
      : axes_(1),
        size_(1, window.length),
        strides_(1, stride.length),
        dilation_(1, dilation.length),
        padding1d_(padding) {}

  /// Throws: ValueError for a padding outside [0, 2^20).
  void check_padding() const;
  /// Returns the only input, images or sequences. Throws: ShapeError.
  const Shape& input(std::span<const Shape> inputs) const;
  /// Throws: ShapeError if the window does not fit.
  Shape output_shape(const Shape& x, int64_t channels) const;
  /// Returns the options of the runtime's ops for input x.
  WindowOptions on(const Shape& x) const;
  WindowOptions1D on_sequence(const Shape& x) const;

  /// ONNX attributes: lists of one number per axis.
  OnnxBuilder::Attribute onnx_size() const { return by_axis(size_); }
  OnnxBuilder::Attribute onnx_strides() const { return by_axis(strides_); }
  OnnxBuilder::Attribute onnx_dilations() const { return by_axis(dilation_); }
  OnnxBuilder::Attribute onnx_pads(const Shape& x) const;

  bool over_images() const { return axes_ == 2; }
  Size2 size() const { return size_; }
  Size2 strides() const { return strides_; }
  Size2 dilation() const { return dilation_; }
  int64_t cells() const { return size_.h * size_.w; }
  const Padding1D& padding1d() const { return padding1d_; }

 private:
  Pads pads(const Shape& x) const;
  std::vector<int64_t> by_axis(Size2 s) const;

  int axes_;
  Size2 size_, strides_, dilation_;
  Padding padding_;
  Padding1D padding1d_;
};

}  // namespace octet
