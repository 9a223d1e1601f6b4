#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/dataset.h>

namespace octet {

/// Fields in order: axis, mean, variance, invert, name
struct NormalizationOptions {
  /// Axes with separate statistics; empty: one mean for all elements.
  std::vector<int64_t> axis{-1};
  std::vector<float> mean = {};      ///< empty: set by adapt()
  std::vector<float> variance = {};  ///< empty: set by adapt()
  bool invert = false;               ///< computes mean + x * deviation
  std::string name = "";
};

/// Computes (x - mean) / deviation, the deviation being the square root of the
/// variance, at least 1e-7. Without given statistics, mean and variance are
/// non-trainable parameters with the sizes of the axes, initially 0 and 1, set
/// by adapt() or a file.
/// Throws: ValueError for the batch axis, an axis out of range, one of mean and
/// variance without the other, or a negative variance; ShapeError for a list
/// whose length is neither 1 nor the number of statistics.
class Normalization : public LayerHandle {
 public:
  explicit Normalization(const NormalizationOptions& options = {});

  /// Sets mean and (biased) variance from data, before or after the layer is
  /// called. Shapes: data [n,...].
  /// Throws: ValueError if the statistics were given or the data is empty;
  /// ShapeError for samples of another shape.
  void adapt(const Dataset& data) const;
  void adapt(const Tensor& data) const;
};

}  // namespace octet
