// Keras' MultiHeadAttention, as the layers it consists of: quantizers can sit
// before each.
#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: num_heads, key_dim, value_dim, output_size, dropout,
/// use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
/// bias_regularizer, name
struct MultiHeadAttentionOptions {
  int64_t num_heads = 0;
  int64_t key_dim = 0;      ///< features of a head in query and key
  int64_t value_dim = 0;    ///< features of a head in value; 0: key_dim
  int64_t output_size = 0;  ///< features of the result; 0: as the query
  float dropout = 0;        ///< of the attention weights, in training
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// Attention between projections: Dense layers `<name>/query`, `<name>/key`
/// and `<name>/value`, the ScaledDotProductAttention `<name>/attention` and
/// the Dense layer `<name>/attention_output`. Without a name all five are
/// named by the model. The kernels are those of Keras' MultiHeadAttention
/// with the axes of heads and features made one, [d,heads,key_dim] ->
/// [d,heads*key_dim] and [heads,value_dim,d] -> [heads*value_dim,d]; the
/// initial ones spread over that shape.
/// Shapes: query [n,tq,c], value [n,tk,cv], key [n,tk,ck]
/// -> [n,tq,output_size].
/// Throws: ValueError for sizes < 1; ShapeError for lengths that differ.
SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const SymbolicTensor& key,
                                    const MultiHeadAttentionOptions& options);
/// The value is the key too.
SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const MultiHeadAttentionOptions& options);

}  // namespace octet
