#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/dense.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/regularization.h>
#include <octet/runtime/error.h>

#include "base/checks.h"
#include "base/part_names.h"

namespace octet {
namespace {

SymbolicTensor normalize(const SymbolicTensor& x,
                         const TransformerBlockOptions& o, const char* part) {
  return LayerNormalization(
      {.epsilon = o.epsilon, .name = part_name(o.name, part)})(x);
}

SymbolicTensor drop(const SymbolicTensor& x, const TransformerBlockOptions& o,
                    const char* part) {
  if (o.dropout == 0) return x;
  return Dropout({.rate = o.dropout, .name = part_name(o.name, part)})(x);
}

SymbolicTensor build(const SymbolicTensor& x,
                     const TransformerBlockOptions& o) {
  const Shape shape = x.shape();
  const int64_t d = token_input(std::span(&shape, 1))[2];
  expect_count("num_heads", o.num_heads);
  expect_count("mlp_dim", o.mlp_dim);
  if (d % o.num_heads != 0) {
    throw ShapeError(
        "invalid_shape", "input",
        fmt::format("features must be a multiple of the {} heads, got {}",
                    o.num_heads, shape.to_string()));
  }
  SymbolicTensor y = normalize(x, o, "norm1");
  y = multi_head_attention(y, y,
                           {.num_heads = o.num_heads,
                            .key_dim = d / o.num_heads,
                            .dropout = o.attention_dropout,
                            .kernel_initializer = o.kernel_initializer,
                            .kernel_regularizer = o.kernel_regularizer,
                            .name = part_name(o.name, "attention")});
  y = drop(y, o, "dropout1");
  y = Add({.name = part_name(o.name, "add1")})({x, y});

  SymbolicTensor z = normalize(y, o, "norm2");
  z = Dense({.units = o.mlp_dim,
             .activation = o.activation,
             .kernel_initializer = o.kernel_initializer,
             .kernel_regularizer = o.kernel_regularizer,
             .name = part_name(o.name, "mlp1")})(z);
  z = drop(z, o, "dropout2");
  z = Dense({.units = d,
             .kernel_initializer = o.kernel_initializer,
             .kernel_regularizer = o.kernel_regularizer,
             .name = part_name(o.name, "mlp2")})(z);
  z = drop(z, o, "dropout3");
  return Add({.name = part_name(o.name, "add2")})({y, z});
}

}  // namespace

SymbolicTensor transformer_block(const SymbolicTensor& x,
                                 const TransformerBlockOptions& options) {
  return with_context(
      [&] { return frame_of("transformer_block", options.name); },
      [&] { return build(x, options); });
}

}  // namespace octet
