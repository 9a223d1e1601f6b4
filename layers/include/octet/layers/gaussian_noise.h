#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: stddev, name
struct GaussianNoiseOptions {
  float stddev = 1;
  std::string name = "";
};

/// In training, adds normal noise of mean 0; identity in inference. Random
/// streams as in Dropout.
/// Throws: ValueError unless stddev is finite and >= 0.
class GaussianNoise : public LayerHandle {
 public:
  explicit GaussianNoise(const GaussianNoiseOptions& options = {});
};

}  // namespace octet
