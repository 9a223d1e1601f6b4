#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, name
struct SpatialDropout1DOptions {
  float rate = 0.5f;  ///< probability of zero, in [0,1)
  std::string name = "";
};

/// Dropout of whole channels of sequences. Shapes: [n,l,c] -> [n,l,c].
/// Throws: ValueError for a rate outside [0,1); ShapeError when called on
/// anything but sequences.
class SpatialDropout1D : public LayerHandle {
 public:
  explicit SpatialDropout1D(const SpatialDropout1DOptions& options = {});
};

}  // namespace octet
