#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, name
struct SpatialDropout1DOptions {
  float rate = 0.5f;  ///< fraction of channels dropped, in [0,1)
  std::string name = "";
};

/// Drops whole channels of sequences, as Dropout.
/// Shapes: [n,l,c] -> [n,l,c].
/// Throws: ValueError for a rate outside [0,1); ShapeError for inputs other
/// than sequences.
class SpatialDropout1D : public LayerHandle {
 public:
  explicit SpatialDropout1D(const SpatialDropout1DOptions& options = {});
};

}  // namespace octet
