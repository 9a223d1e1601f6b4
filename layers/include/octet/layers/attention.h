// Attention and transformers.
#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Options of ScaledDotProductAttention.
/// Fields in order: num_heads, dropout, causal, name
struct ScaledDotProductAttentionOptions {
  /// Number of heads, in [1, 2^31); divides the features of all inputs.
  int64_t num_heads = 1;
  float dropout = 0;      ///< dropout rate of the attention weights, in [0,1)
  bool causal = false;    ///< masks keys after the query's position
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes softmax(q k^T / sqrt(d)) v for each head. The d features of a head
/// are adjacent in q and k. If `causal`, query i attends to keys 0 to i. Keys
/// with mask 0 are ignored, unless all keys have mask 0; mask_of() provides the
/// mask. No parameters; multi_head_attention() adds the projections.
/// Shapes: {q [n,tq,heads*d], k [n,tk,heads*d], v [n,tk,heads*dv]}, optionally
/// with a mask [n,tk] or [n,tq,tk] -> [n,tq,heads*dv].
/// Throws: ValueError for num_heads < 1 or dropout outside [0,1); ShapeError
/// for inputs that do not match.
/// Source: Vaswani et al., arXiv 1706.03762, eq. 1.
class ScaledDotProductAttention : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit ScaledDotProductAttention(
      const ScaledDotProductAttentionOptions& options = {});
};

// Keras' MultiHeadAttention, composed of layers, so that each can be quantized.

/// Options of multi_head_attention().
/// Fields in order: num_heads, key_dim, value_dim, output_size, dropout,
/// causal, use_bias, kernel_initializer, bias_initializer, kernel_regularizer,
/// bias_regularizer, name
struct MultiHeadAttentionOptions {
  int64_t num_heads = 0;    ///< number of heads, in [1, 2^31); required
  int64_t key_dim = 0;      ///< features per head of query and key; required
  int64_t value_dim = 0;    ///< features per head of value; 0: key_dim
  int64_t output_size = 0;  ///< features of the output; 0: as the query
  float dropout = 0;        ///< dropout rate of the attention weights, in [0,1)
  bool causal = false;      ///< masks keys after the query's position
  bool use_bias = true;     ///< adds a learned bias in each Dense layer
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  Initializer bias_initializer = zeros();             ///< initial bias values
  Regularizer kernel_regularizer = {};  ///< penalty on the kernel; {}: none
  Regularizer bias_regularizer = {};    ///< penalty on the bias; {}: none
  /// Prefix of the layer names; empty: from the class names.
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
/// Throws: ValueError for sizes < 1 or dropout outside [0,1); ShapeError for
/// key and value of different lengths.
SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const SymbolicTensor& key,
                                    const MultiHeadAttentionOptions& options);
/// Uses the value as key.
SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const MultiHeadAttentionOptions& options);

/// Options of transformer_block().
/// Fields in order: num_heads, mlp_dim, dropout, attention_dropout, epsilon,
/// activation, kernel_initializer, kernel_regularizer, name
struct TransformerBlockOptions {
  int64_t num_heads = 0;  ///< number of heads; divides the features; required
  int64_t mlp_dim = 0;    ///< features between mlp1 and mlp2; required
  /// Dropout rate after the attention, mlp1 and mlp2, in [0,1).
  float dropout = 0;
  /// Dropout rate of the attention weights, in [0,1).
  float attention_dropout = 0;
  float epsilon = 1e-6f;  ///< of both LayerNormalization layers, > 0 and finite
  std::string activation = "gelu";  ///< function of mlp1; see Activation
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  Regularizer kernel_regularizer = {};  ///< penalty on the kernel; {}: none
  /// Prefix of the layer names; empty: from the class names.
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
/// Throws: ShapeError if num_heads does not divide d; ValueError for sizes < 1,
/// dropout rates outside [0,1), epsilon <= 0 or an unknown activation.
/// Source: Dosovitskiy et al., arXiv 2010.11929, eq. 2 and 3.
SymbolicTensor transformer_block(const SymbolicTensor& x,
                                 const TransformerBlockOptions& options);

/// Options of patch_embedding().
/// Fields in order: patch_size, dim, kernel_initializer, kernel_regularizer,
/// name
struct PatchEmbeddingOptions {
  Size2 patch_size{16, 16};  ///< height and width of a patch, in [1, 2^20)
  int64_t dim = 0;           ///< features per token; required
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  Regularizer kernel_regularizer = {};  ///< penalty on the kernel; {}: none
  /// Name of the Conv2D and prefix of the Reshape; empty: from the class names.
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

/// Options of PositionEmbedding.
/// Fields in order: embedding_initializer, name
struct PositionEmbeddingOptions {
  /// Initial values of position_embedding.
  Initializer embedding_initializer = random_normal(0, 0.02);
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Adds a learned vector to each token, by position. Parameter:
/// position_embedding [1,t,d] (normal, deviation 0.02).
/// Shapes: [n,t,d] -> [n,t,d].
/// Throws: ShapeError for another rank or, in a shared layer, another length.
/// Source: Dosovitskiy et al., arXiv 2010.11929, eq. 1.
class PositionEmbedding : public LayerHandle {
 public:
  /// The first call creates the parameter.
  explicit PositionEmbedding(const PositionEmbeddingOptions& options = {});
};

/// Options of ClassToken.
/// Fields in order: token_initializer, name
struct ClassTokenOptions {
  Initializer token_initializer = zeros();  ///< initial values of class_token
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Prepends a learned token to each sequence, the input of the classifier.
/// Parameter: class_token [1,1,d], initially zeros.
/// Shapes: [n,t,d] -> [n,t+1,d].
/// Throws: ShapeError for another rank.
/// Source: Dosovitskiy et al., arXiv 2010.11929, eq. 1.
class ClassToken : public LayerHandle {
 public:
  /// The first call creates the parameter.
  explicit ClassToken(const ClassTokenOptions& options = {});
};

/// Options of SelectToken.
/// Fields in order: index, name
struct SelectTokenOptions {
  int64_t index = 0;  ///< position of the token; negative counts from the end
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Selects a token of each sample, such as the class token.
/// Shapes: [n,t,d] -> [n,d].
/// Throws: ShapeError for another rank or an index out of range.
class SelectToken : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit SelectToken(const SelectTokenOptions& options = {});
};

}  // namespace octet
