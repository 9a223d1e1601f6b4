// Dense: fully connected layer.
#pragma once

#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Options of Dense.
/// Fields in order: units, activation, use_bias, kernel_initializer,
/// bias_initializer, kernel_regularizer, bias_regularizer, name
struct DenseOptions {
  int64_t units = 0;  ///< number of output channels, in [1, 2^31); required
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  Initializer bias_initializer = zeros();             ///< initial bias values
  Regularizer kernel_regularizer = {};  ///< penalty on the kernel; {}: none
  Regularizer bias_regularizer = {};    ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Fully connected layer over the last axis, as in Keras. Parameters: kernel
/// [c,units] (Glorot uniform), bias [units] (zeros).
/// Shapes: [n,...,c] -> [n,...,units].
/// Throws: ValueError for units < 1 or an unknown activation; ShapeError for
/// rank < 2.
class Dense : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit Dense(const DenseOptions& options);
};

}  // namespace octet
