#include <octet/layers/attention.h>
#include <octet/layers/dense.h>
#include <octet/runtime/error.h>

#include "base/checks.h"
#include "base/part_names.h"

namespace octet {

SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const SymbolicTensor& key,
                                    const MultiHeadAttentionOptions& o) {
  return with_context(
      [&] { return frame_of("multi_head_attention", o.name); },
      [&] {
        expect_count("num_heads", o.num_heads);
        expect_count("key_dim", o.key_dim);
        const int64_t value_dim = o.value_dim == 0 ? o.key_dim : o.value_dim;
        expect_count("value_dim", value_dim);
        const auto project = [&](const SymbolicTensor& x, int64_t units,
                                 const char* part) {
          return Dense({.units = units,
                        .use_bias = o.use_bias,
                        .kernel_initializer = o.kernel_initializer,
                        .bias_initializer = o.bias_initializer,
                        .kernel_regularizer = o.kernel_regularizer,
                        .bias_regularizer = o.bias_regularizer,
                        .name = part_name(o.name, part)})(x);
        };
        const auto q = project(query, o.num_heads * o.key_dim, "query");
        const auto k = project(key, o.num_heads * o.key_dim, "key");
        const auto v = project(value, o.num_heads * value_dim, "value");
        const auto y = ScaledDotProductAttention(
            {.num_heads = o.num_heads,
             .dropout = o.dropout,
             .causal = o.causal,
             .name = part_name(o.name, "attention")})({q, k, v});
        const int64_t size =
            o.output_size == 0 ? query.shape()[-1] : o.output_size;
        return project(y, size, "attention_output");
      });
}

SymbolicTensor multi_head_attention(const SymbolicTensor& query,
                                    const SymbolicTensor& value,
                                    const MultiHeadAttentionOptions& options) {
  return multi_head_attention(query, value, value, options);
}

}  // namespace octet
