#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct DenseOptions {
  int64_t units = 0;
  bool use_bias = true;
  std::string name = "";
};

/// A matrix product over the last axis, as in Keras. Parameters: kernel
/// [c,units] (Glorot uniform), bias [units] (zeros).
/// Shapes: [n,...,c] -> [n,...,units].
/// Throws: ValueError for units < 1; ShapeError for rank < 2.
class Dense : public LayerHandle {
 public:
  explicit Dense(const DenseOptions& options);
};

}  // namespace octet
