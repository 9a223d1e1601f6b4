// Dense and Einsum.
#pragma once

#include <string>
#include <string_view>

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

// Sums of products in Einstein notation, as numpy.einsum of two tensors.

/// Axes of the two inputs and the output, one letter each, and the letters by
/// their role in a matrix product.
struct EinsumEquation {
  std::string a = {}, b = {}, y = {};
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
