#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: units, activation, use_bias, kernel_initializer,
/// bias_initializer, kernel_regularizer, bias_regularizer, name
struct DenseOptions {
  int64_t units = 0;
  std::string activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// Fully connected layer over the last axis, as in Keras. Parameters: kernel
/// [c,units] (Glorot uniform), bias [units] (zeros).
/// Shapes: [n,...,c] -> [n,...,units].
/// Throws: ValueError for units < 1; ShapeError for rank < 2.
class Dense : public LayerHandle {
 public:
  explicit Dense(const DenseOptions& options);
};

}  // namespace octet
