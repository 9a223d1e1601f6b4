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

/// Enlarges images by the factors `size`, as in Keras: "nearest" repeats
/// pixels, "bilinear" interpolates between pixel centers.
/// Shapes: [n,h,w,c] -> [n,h*size.h,w*size.w,c].
/// Throws: ValueError for sizes < 1 or an unknown interpolation; ShapeError for
/// inputs other than images.
class UpSampling2D : public LayerHandle {
 public:
  explicit UpSampling2D(const UpSampling2DOptions& options = {});
};

}  // namespace octet
