#pragma once

#include <octet/layers/graph.h>
#include <octet/runtime/shape.h>

namespace octet {

/// Fields in order: size, interpolation, name
struct UpSampling2DOptions {
  Size2 size{2, 2};
  std::string interpolation = "nearest";  ///< or "bilinear"
  std::string name = "";
};

/// Images `size` times as large, as in Keras: nearest repeats pixels, bilinear
/// goes between pixel centres. Shapes: [n,h,w,c] -> [n,h*size.h,w*size.w,c].
/// Throws: ValueError for sizes < 1 and other interpolations; ShapeError when
/// called on anything but an image.
class UpSampling2D : public LayerHandle {
 public:
  explicit UpSampling2D(const UpSampling2DOptions& options = {});
};

}  // namespace octet
