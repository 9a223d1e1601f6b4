#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, name
struct GaussianDropoutOptions {
  float rate = 0.5f;
  std::string name = "";
};

/// In training, multiplies each element by normal noise of mean 1 and variance
/// rate / (1 - rate); identity in inference. Random streams as in Dropout.
/// Throws: ValueError for a rate outside [0,1).
class GaussianDropout : public LayerHandle {
 public:
  explicit GaussianDropout(const GaussianDropoutOptions& options = {});
};

}  // namespace octet
