#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: init_values, projection_dim, name
struct LayerScaleOptions {
  float init_values = 1e-6f;
  int64_t projection_dim = 0;  ///< channels; 0: as many as there are
  std::string name = "";
};

/// gamma * x with a factor for each channel, as at the end of a residual branch
/// of ConvNeXt. Parameters: gamma [c] (init_values).
/// Shapes: [n,...,c] -> [n,...,c].
/// Throws: ValueError for an init_values that is not finite; ShapeError for
/// another number of channels, or rank < 2.
/// Source: Touvron et al. 2021, arXiv 2103.17239, section 2.
class LayerScale : public LayerHandle {
 public:
  explicit LayerScale(const LayerScaleOptions& options = {});
};

}  // namespace octet
