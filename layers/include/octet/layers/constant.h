#pragma once

#include <string>

#include <octet/layers/graph.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Fields in order: value, name
struct ConstantOptions {
  /// Value per sample: [h,w,c], [t,d], a scalar, ...
  Tensor value = {};
  std::string name = "";
};

/// Repeats a constant for every sample: a table of anchors, a mask, queries.
///
///   Maximum()({x, Constant({.value = floor})(x)})
///
/// Of its input it uses the number of samples only. Parameter: value, frozen
/// until set_trainable(true), like a buffer in PyTorch. Merging layers
/// broadcast it.
/// Shapes: [n,...] -> [n, dimensions of the value].
/// Throws: ValueError for a missing value or an element type other than f32;
/// ShapeError for a value of rank Shape::kMaxRank or higher.
class Constant : public LayerHandle {
 public:
  explicit Constant(const ConstantOptions& options);
};

}  // namespace octet
