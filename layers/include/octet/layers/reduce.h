#pragma once

#include <string>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: operation, axes, keepdims, name
struct ReduceOptions {
  /// "max", "mean", "min", "prod" or "sum".
  std::string operation = "";
  /// Axes to reduce, in any order. The batch, axis 0, is not allowed; negative
  /// axes count from the end.
  std::vector<int64_t> axes = {};
  bool keepdims = false;  ///< keeps the reduced axes, with size 1
  std::string name = "";
};

/// Reduces axes of each sample; functions: mean(), sum(), max(), min(), prod()
/// of ops.h. Numerics: octet/runtime/ops/reduction.h. Exported as a single
/// ReduceMax, ReduceMean, ReduceMin, ReduceProd or ReduceSum.
/// Shapes: [n,...] -> [n,...] without the axes, or with size 1 there.
/// Throws: ValueError for an unknown operation or no axes; ShapeError for the
/// batch axis, an axis out of range, a duplicate, or an output without axes
/// besides the batch.
class Reduce : public LayerHandle {
 public:
  explicit Reduce(const ReduceOptions& options);
};

}  // namespace octet
