// Attention and transformers.
#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: num_heads, dropout, causal, name
struct ScaledDotProductAttentionOptions {
  int64_t num_heads = 1;
  float dropout = 0;    ///< rate for attention weights, in training
  bool causal = false;  ///< mask keys after the query's position
  std::string name = "";
};

/// Computes softmax(q k^T / sqrt(d)) v for each head. The d features of a head
/// are adjacent in q and k. If `causal`, query i attends to keys 0 to i.
/// No parameters; multi_head_attention() adds the
/// projections.
/// Shapes: {q [n,tq,heads*d], k [n,tk,heads*d], v [n,tk,heads*dv]}
/// -> [n,tq,heads*dv].
/// Throws: ValueError for num_heads < 1 or dropout outside [0,1); ShapeError
/// for inputs that do not match.
/// Source: Vaswani et al., arXiv 1706.03762, eq. 1.
class ScaledDotProductAttention : public LayerHandle {
 public:
  explicit ScaledDotProductAttention(
      const ScaledDotProductAttentionOptions& options = {});
};

// Keras' MultiHeadAttention, composed of layers, so that each can be quantized.

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

/// Fields in order: patch_size, dim, kernel_initializer, kernel_regularizer,
/// name
struct PatchEmbeddingOptions {
  Size2 patch_size{16, 16};
  int64_t dim = 0;  ///< features per token
  Initializer kernel_initializer = glorot_uniform();
  Regularizer kernel_regularizer = {};
  std::string name = "";
};

/// Embeds image patches as tokens: a Conv2D `<name>` with strides equal to its
/// window, and a Reshape `<name>/tokens`.
/// Shapes: [n,h,w,c] -> [n,(h/ph)*(w/pw),dim], in row-major order.
/// Throws: ShapeError for images that patches do not divide; ValueError for
/// sizes < 1.
/// Source: Dosovitskiy et al., arXiv 2010.11929, section 3.1.
SymbolicTensor patch_embedding(const SymbolicTensor& x,
                               const PatchEmbeddingOptions& options);

/// Fields in order: embedding_initializer, name
struct PositionEmbeddingOptions {
  Initializer embedding_initializer = random_normal(0, 0.02);
  std::string name = "";
};

/// Adds a learned vector to each token, by position. Parameter:
/// position_embedding [1,t,d] (normal, deviation 0.02).
/// Shapes: [n,t,d] -> [n,t,d].
/// Throws: ShapeError for another rank or, in a shared layer, another length.
/// Source: Dosovitskiy et al., arXiv 2010.11929, eq. 1.
class PositionEmbedding : public LayerHandle {
 public:
  explicit PositionEmbedding(const PositionEmbeddingOptions& options = {});
};

/// Fields in order: token_initializer, name
struct ClassTokenOptions {
  Initializer token_initializer = zeros();
  std::string name = "";
};

/// Prepends a learned token to each sequence, the input of the classifier.
/// Parameter: class_token [1,1,d], initially zeros.
/// Shapes: [n,t,d] -> [n,t+1,d].
/// Throws: ShapeError for another rank.
/// Source: Dosovitskiy et al., arXiv 2010.11929, eq. 1.
class ClassToken : public LayerHandle {
 public:
  explicit ClassToken(const ClassTokenOptions& options = {});
};

/// Fields in order: index, name
struct SelectTokenOptions {
  int64_t index = 0;  ///< negative counts from the end
  std::string name = "";
};

/// Selects a token of each sample, such as the class token.
/// Shapes: [n,t,d] -> [n,d].
/// Throws: ShapeError for another rank or an index out of range.
class SelectToken : public LayerHandle {
 public:
  explicit SelectToken(const SelectTokenOptions& options = {});
};

}  // namespace octet
