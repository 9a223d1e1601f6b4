#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: transpose_a, transpose_b, name
struct MatmulLayerOptions {
  bool transpose_a = false;  ///< the first holds [...,k,m]
  bool transpose_b = false;  ///< the second holds [...,l,k]
  std::string name = "";
};

/// Products of the matrices that the last two axes of its two inputs hold,
/// sample by sample: `Matmul({.transpose_b = true})({query, key})`.
/// Shapes: {[n,...,m,k], [n,...,k,l]} -> [n,...,m,l]; the axes between are
/// equal, or 1 in one of them.
/// Throws: ValueError unless there are two inputs; ShapeError naming inputs
/// that are no matrices, or do not fit.
class Matmul : public LayerHandle {
 public:
  explicit Matmul(const MatmulLayerOptions& options = {});
};

}  // namespace octet
