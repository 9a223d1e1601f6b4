#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: rate, noise_shape, name
struct DropoutOptions {
  float rate = 0.5f;  ///< fraction of elements dropped, in [0,1)
  /// Shape of the random mask, which broadcasts to the input: {-1,1,1,1} drops
  /// whole images. -1 stands for the input's own size; empty draws every
  /// element independently.
  std::vector<int64_t> noise_shape = {};
  std::string name = "";
};

/// In training, sets elements to zero at random and scales the others by 1 / (1
/// - rate); identity in inference. Each call in each pass draws from a separate
/// random stream, so the model's seed reproduces a run.
/// Throws: ValueError for a rate outside [0,1); ShapeError for a noise shape of
/// another rank than the input's or with sizes other than 1 and the input's.
class Dropout : public LayerHandle {
 public:
  explicit Dropout(const DropoutOptions& options = {});
};

}  // namespace octet
