// Dense and Einsum.
#pragma once

#include <string>
#include <string_view>

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

// Sums of products in Einstein notation, as numpy.einsum of two tensors.

/// Axes of the two inputs and the output, one letter each, and the letters by
/// their role in a matrix product.
struct EinsumEquation {
  std::string a = {},        ///< axes of the first input
      b = {},                ///< axes of the second input
      y = {};                ///< axes of the output
  std::string batch = {};    ///< in both inputs and the output
  std::string rows = {};     ///< in the first input and the output
  std::string columns = {};  ///< in the second input and the output
  std::string depth = {};    ///< in both inputs only, summed
};

/// Parses "bij,bjk->bik" for inputs of these ranks; "..." becomes digits. In
/// the absence of "->", the output has the letters that occur once, sorted.
/// Throws: ValueError unless the equation has two inputs with a letter for each
/// axis, each letter once in a term, and sums over letters of both inputs only.
EinsumEquation parse_einsum(std::string_view equation, int rank_a, int rank_b);

/// Assigns the roles of the letters. Throws: as parse_einsum().
EinsumEquation einsum_of(std::string a, std::string b, std::string y);

/// Computes the equation by a matrix product, or by Multiply if nothing is
/// summed: `einsum("nqhd,nkhd->nhqk", query, key)`. The first axis of all is
/// the batch. Throws: as parse_einsum(); ShapeError for sizes that differ.
SymbolicTensor einsum(std::string_view equation, const SymbolicTensor& a,
                      const SymbolicTensor& b);

}  // namespace octet
