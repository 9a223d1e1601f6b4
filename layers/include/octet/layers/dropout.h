#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, noise_shape, name
struct DropoutOptions {
  float rate = 0.5f;  ///< probability of zero, in [0,1)
  /// Axes of size 1 fall together: {-1,1,1,1} drops whole images. A size of
  /// -1 is the input's own; none: every value by itself.
  std::vector<int64_t> noise_shape = {};
  std::string name = "";
};

/// In training sets values to zero at random and divides the others by
/// 1 - rate; in inference the identity. Every call of every pass draws from a
/// stream of its own, so a run can be repeated from the model's seed.
/// Throws: ValueError for a rate outside [0,1); ShapeError for a noise shape
/// of another rank than the input, or sizes that are neither 1 nor its own.
class Dropout : public LayerHandle {
 public:
  explicit Dropout(const DropoutOptions& options = {});
};

}  // namespace octet
