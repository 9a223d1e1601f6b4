#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/dataset.h>

namespace octet {

/// Fields in order: axis, mean, variance, invert, name
struct NormalizationOptions {
  /// Axes that have statistics of their own; none: one mean for everything.
  std::vector<int64_t> axis{-1};
  std::vector<float> mean = {};      ///< empty: from adapt()
  std::vector<float> variance = {};  ///< empty: from adapt()
  bool invert = false;               ///< mean + x * deviation
  std::string name = "";
};

/// (x - mean) / deviation with the square root of the variance as deviation,
/// at least 1e-7. Without given statistics there are the parameters mean and
/// variance, of the sizes of the axes, which do not train: 0 and 1 until
/// adapt() or a file sets them.
/// Throws: ValueError for an axis that is the batch or not there, for one of
/// mean and variance without the other, or a negative variance; ShapeError
/// for lists that are neither one number nor one for each entry of the axes.
class Normalization : public LayerHandle {
 public:
  explicit Normalization(const NormalizationOptions& options = {});

  /// Sets mean and (biased) variance to those of the data, before or after
  /// the layer is called. Shapes: data [n,...].
  /// Throws: ValueError if the statistics were given or there is no data;
  /// ShapeError for samples of another shape.
  void adapt(const Dataset& data) const;
  void adapt(const Tensor& data) const;
};

}  // namespace octet
