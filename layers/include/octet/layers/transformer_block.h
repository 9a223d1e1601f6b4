#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: num_heads, mlp_dim, dropout, attention_dropout, epsilon,
/// activation, kernel_initializer, kernel_regularizer, name
struct TransformerBlockOptions {
  int64_t num_heads = 0;
  int64_t mlp_dim = 0;  ///< features between the two Dense layers
  float dropout = 0;    ///< after attention and each Dense layer, in training
  float attention_dropout = 0;  ///< rate for attention weights
  float epsilon = 1e-6f;        ///< of the two normalizations
  std::string activation = "gelu";
  Initializer kernel_initializer = glorot_uniform();
  Regularizer kernel_regularizer = {};
  std::string name = "";
};

/// Pre-norm encoder block:
///   y = x + attention(normalize(x))
///   z = y + Dense(activation(Dense(normalize(y))))
/// Layers: `<name>/norm1`, `<name>/attention/...`, `<name>/add1`,
/// `<name>/norm2`, `<name>/mlp1`, `<name>/mlp2`, `<name>/add2`, and with
/// dropout `<name>/dropout1` to `<name>/dropout3`. The heads split the features
/// of a token evenly.
/// Shapes: [n,t,d] -> [n,t,d].
/// Throws: ShapeError if num_heads does not divide d; ValueError for sizes < 1.
/// Source: Dosovitskiy et al., arXiv 2010.11929, eq. 2 and 3.
SymbolicTensor transformer_block(const SymbolicTensor& x,
                                 const TransformerBlockOptions& options);

}  // namespace octet
