#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

struct Conv2DOptions {
  int64_t filters = 0;
  Size2 kernel_size{3, 3};
  Size2 strides{1, 1};
  Padding padding = Padding::valid;
  Size2 dilation_rate{1, 1};
  bool use_bias = true;
  std::string name = "";
};

/// 2-D convolution, as in Keras. Parameters: kernel [kh,kw,c,filters]
/// (Glorot uniform), bias [filters] (zeros).
/// Shapes: [n,h,w,c] -> [n,oh,ow,filters].
/// Throws: ValueError for filters, sizes, strides or dilation < 1;
/// ShapeError when called on anything but an image, or if the kernel does not
/// fit.
class Conv2D : public LayerHandle {
 public:
  explicit Conv2D(const Conv2DOptions& options);
};

}  // namespace octet
