#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: init_values, projection_dim, name
struct LayerScaleOptions {
  float init_values = 1e-6f;
  int64_t projection_dim = 0;  ///< channels; 0: as the input
  std::string name = "";
};

/// Computes gamma * x with a factor per channel, as at the end of a residual
/// branch of ConvNeXt. Parameters: gamma [c] (init_values).
/// Shapes: [n,...,c] -> [n,...,c].
/// Throws: ValueError for a non-finite init_values; ShapeError for a number of
/// channels other than projection_dim, or rank < 2.
/// Source: Touvron et al. 2021, arXiv 2103.17239, section 2.
class LayerScale : public LayerHandle {
 public:
  explicit LayerScale(const LayerScaleOptions& options = {});
};

}  // namespace octet
