#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, noise_shape, name
struct AlphaDropoutOptions {
  float rate = 0.5f;
  std::vector<int64_t> noise_shape = {};  ///< as Dropout's
  std::string name = "";
};

/// Dropout for networks of SELU: in training, elements become the function's
/// lower limit, -1.7581, with probability `rate`, and all are then scaled and
/// shifted so that mean and variance stay; in inference the identity. Draws as
/// Dropout does. Throws: ValueError for a rate outside [0,1); ShapeError.
/// Source: Klambauer et al. 2017, Self-Normalizing Neural Networks.
class AlphaDropout : public LayerHandle {
 public:
  explicit AlphaDropout(const AlphaDropoutOptions& options = {});
};

}  // namespace octet
