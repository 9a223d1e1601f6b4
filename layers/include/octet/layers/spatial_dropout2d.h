#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, name
struct SpatialDropout2DOptions {
  float rate = 0.5f;  ///< probability of zero, in [0,1)
  std::string name = "";
};

/// Dropout of whole channels of images. Shapes: [n,h,w,c] -> [n,h,w,c].
/// Throws: ValueError for a rate outside [0,1); ShapeError when called on
/// anything but an image.
class SpatialDropout2D : public LayerHandle {
 public:
  explicit SpatialDropout2D(const SpatialDropout2DOptions& options = {});
};

}  // namespace octet
