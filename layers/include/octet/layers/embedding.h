// Embeddings of indices, and masks of sequences.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/rng.h>

namespace octet {

class Model;

/// Options of Embedding.
/// Fields in order: input_dim, output_dim, embeddings_initializer,
/// embeddings_regularizer, mask_zero, name
struct EmbeddingOptions {
  int64_t input_dim = 0;   ///< number of indices, in [1, 2^24]; required
  int64_t output_dim = 0;  ///< size of a vector, >= 1; required
  /// Initial values of the vectors.
  Initializer embeddings_initializer = random_uniform(-0.05, 0.05);
  Regularizer embeddings_regularizer = {};  ///< of the vectors; {}: none
  /// Whether index 0 is padding, which layers that support masks skip; see
  /// mask_of().
  bool mask_zero = false;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Replaces each index by a learned vector. Parameter: embeddings
/// [input_dim,output_dim] (uniform in [-0.05,0.05)). Indices are whole numbers,
/// which float32 represents exactly up to 2^24.
/// Shapes: [n,...] -> [n,...,output_dim].
/// Throws: ValueError for sizes out of range and, in each pass, for an index
/// that is not a whole number in [0, input_dim); ShapeError for rank 8.
class Embedding : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameter.
  explicit Embedding(const EmbeddingOptions& options);
};

/// Options of Masking.
/// Fields in order: mask_value, name
struct MaskingOptions {
  float mask_value = 0;   ///< value of all features of a step to skip
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Marks steps whose features all equal mask_value as steps to skip, and sets
/// their features to 0. See mask_of().
/// Shapes: [n,t,...] -> [n,t,...].
/// Throws: ShapeError for rank < 3.
class Masking : public LayerHandle {
 public:
  /// Each call checks its input.
  explicit Masking(const MaskingOptions& options = {});
};

/// Returns, for each input of a model, the number of rows of the smallest table
/// that its values index: they must be whole numbers in [0, rows). 0: not
/// indices.
std::vector<int64_t> index_limits(const Model& model);

/// Returns random inputs [n,...]: indices within index_limits(), otherwise
/// uniform in [low, high).
std::vector<Tensor> random_inputs(const Model& model, int64_t n, float low,
                                  float high, Rng rng);

}  // namespace octet
