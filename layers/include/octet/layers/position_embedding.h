#pragma once

#include <octet/layers/graph.h>

namespace octet {

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

}  // namespace octet
