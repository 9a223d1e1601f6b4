#pragma once

#include <string>

#include <octet/layers/graph.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Fields in order: value, name
struct ConstantOptions {
  /// What each sample gets: [h,w,c], [t,d], one number, ...
  Tensor value = {};
  std::string name = "";
};

/// The same numbers for every sample: a table of anchors, a mask, queries.
///
///   Maximum()({x, Constant({.value = floor})(x)})
///
/// What it is called on says how many samples there are, and nothing else.
/// Parameter: value, frozen until somebody says set_trainable(true), as a
/// buffer of PyTorch's. Other layers that join values broadcast it.
/// Shapes: [n,...] -> [n, sizes of the value].
/// Throws: ValueError for a layer without a value, or one that is not f32;
/// ShapeError for a value of Shape::kMaxRank axes or more.
class Constant : public LayerHandle {
 public:
  explicit Constant(const ConstantOptions& options);
};

}  // namespace octet
