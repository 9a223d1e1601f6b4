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

}  // namespace octet
