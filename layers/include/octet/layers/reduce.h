#pragma once

#include <string>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: operation, axes, keepdims, name
struct ReduceOptions {
  /// Required: "argmax", "argmin", "max", "mean", "min", "prod" or "sum".
  std::string operation = "";
  /// Required: axes to reduce, in any order, without the batch (axis 0).
  /// Negative axes count from the end.
  std::vector<int64_t> axes = {};
  bool keepdims = false;  ///< keep the reduced axes, with size 1
  std::string name = "";
};

/// Reduces axes of each sample. ops.h has a function for each operation:
/// mean(), sum(), max(), min(), prod(). octet/runtime/ops/reduction.h documents
/// the numerics. The ONNX export is a single ReduceMax, ReduceMean, ReduceMin,
/// ReduceProd or ReduceSum. argmax and argmin take one axis and return the
/// index of the first extremum, without gradient: ONNX ArgMax or ArgMin and a
/// Cast. Shapes: [n,...] -> [n,...]; reduced axes are removed, or kept with
/// size 1. Throws: ValueError for an unknown operation, no axes, or several
/// axes of argmax and argmin; ShapeError for the batch axis, an axis out of
/// range, a duplicate, or an output without axes besides the batch.
class Reduce : public LayerHandle {
 public:
  explicit Reduce(const ReduceOptions& options);
};

}  // namespace octet
