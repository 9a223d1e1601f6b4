// Keras' MultiHeadAttention, composed of layers, so that each can be quantized.
#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: num_heads, key_dim, value_dim, output_size, dropout,
/// causal, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
/// bias_regularizer, name
struct MultiHeadAttentionOptions {
  int64_t num_heads = 0;
  int64_t key_dim = 0;      ///< features per head of query and key
  int64_t value_dim = 0;    ///< features per head of value; 0: key_dim
  int64_t output_size = 0;  ///< features of the output; 0: as the query
  float dropout = 0;        ///< rate for attention weights, in training
  bool causal = false;      ///< mask keys after the query's position
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// Multi-head attention: Dense layers `<name>/query`, `<name>/key` and
/// `<name>/value`, a ScaledDotProductAttention `<name>/attention` and a Dense
/// layer `<name>/attention_output`. Without a name, the model names all five.
/// Kernels equal Keras' with the axes of heads and features merged,
/// [d,heads,key_dim] -> [d,heads*key_dim] and [heads,value_dim,d] ->
/// [heads*value_dim,d]; initializers use the merged shape.
/// Shapes: query [n,tq,c], value [n,tk,cv], key [n,tk,ck]
/// -> [n,tq,output_size].
/// Throws: ValueError for sizes < 1; ShapeError for key and value of different
/// lengths.
SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const SymbolicTensor& key,
                                    const MultiHeadAttentionOptions& options);
/// Uses the value as key.
SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const MultiHeadAttentionOptions& options);

}  // namespace octet
