#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: transpose_a, transpose_b, name
struct MatmulLayerOptions {
  bool transpose_a = false;  ///< first input is [...,k,m]
  bool transpose_b = false;  ///< second input is [...,l,k]
  std::string name = "";
};

/// Multiplies the matrices in the last two axes of its two inputs, sample by
/// sample: `Matmul({.transpose_b = true})({query, key})`.
/// Shapes: {[n,...,m,k], [n,...,k,l]} -> [n,...,m,l]; the middle axes are
/// equal, or 1 in one input.
/// Throws: ValueError unless there are two inputs; ShapeError for rank < 3 or
/// sizes that do not match.
class Matmul : public LayerHandle {
 public:
  explicit Matmul(const MatmulLayerOptions& options = {});
};

}  // namespace octet
