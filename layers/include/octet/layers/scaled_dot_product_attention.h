#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: num_heads, dropout, name
struct ScaledDotProductAttentionOptions {
  int64_t num_heads = 1;
  float dropout = 0;  ///< of the weights, in training
  std::string name = "";
};

/// softmax(q k^T / sqrt(d)) v for each head: every token of q takes a mean of
/// the tokens of v. The features of a head lie together, d of them in q and
/// k. It has no parameters; multi_head_attention() puts projections around.
/// Shapes: {q [n,tq,heads*d], k [n,tk,heads*d], v [n,tk,heads*dv]}
/// -> [n,tq,heads*dv].
/// Throws: ValueError for num_heads < 1 or dropout outside [0,1); ShapeError
/// naming the two inputs that do not fit.
/// Source: Vaswani et al., arXiv 1706.03762, eq. 1.
class ScaledDotProductAttention : public LayerHandle {
 public:
  explicit ScaledDotProductAttention(
      const ScaledDotProductAttentionOptions& options = {});
};

}  // namespace octet
