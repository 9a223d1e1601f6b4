#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, noise_shape, name
struct AlphaDropoutOptions {
  float rate = 0.5f;
  std::vector<int64_t> noise_shape = {};  ///< see DropoutOptions
  std::string name = "";
};

/// Dropout for networks with SELU. In training each element is set to SELU's
/// lower limit, -1.7581, with probability `rate`; all elements are then scaled
/// and shifted to preserve mean and variance. Identity in inference. Random
/// streams as in Dropout.
/// Throws: ValueError for a rate outside [0,1); ShapeError as Dropout.
/// Source: Klambauer et al. 2017, Self-Normalizing Neural Networks.
class AlphaDropout : public LayerHandle {
 public:
  explicit AlphaDropout(const AlphaDropoutOptions& options = {});
};

}  // namespace octet
