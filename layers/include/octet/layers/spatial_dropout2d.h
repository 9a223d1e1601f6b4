#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, name
struct SpatialDropout2DOptions {
  float rate = 0.5f;  ///< fraction of channels dropped, in [0,1)
  std::string name = "";
};

/// Drops whole channels of images, as Dropout.
/// Shapes: [n,h,w,c] -> [n,h,w,c].
/// Throws: ValueError for a rate outside [0,1); ShapeError for inputs other
/// than images.
class SpatialDropout2D : public LayerHandle {
 public:
  explicit SpatialDropout2D(const SpatialDropout2DOptions& options = {});
};

}  // namespace octet
