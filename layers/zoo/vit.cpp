#include <fmt/format.h>

#include <octet/layers/class_token.h>
#include <octet/layers/layer_normalization.h>
#include <octet/layers/patch_embedding.h>
#include <octet/layers/position_embedding.h>
#include <octet/layers/select_token.h>
#include <octet/layers/transformer_block.h>

#include "network.h"

namespace octet::zoo {
namespace {

constexpr int64_t kPatch = 16;
constexpr int64_t kDim = 192;
constexpr int64_t kHeads = 3;
constexpr int kBlocks = 12;

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  expect_multiples(o.input, kPatch);
  const Kernels kernels{.l2 = o.l2, .initializer = truncated_normal(0, 0.02)};
  SymbolicTensor x =
      patch_embedding(image, {.patch_size = {kPatch, kPatch},
                              .dim = kDim,
                              .kernel_initializer = kernels.initializer,
                              .kernel_regularizer = {.l2 = kernels.l2},
                              .name = "patch_embedding"});
  x = ClassToken({.name = "class_token"})(x);
  x = PositionEmbedding({.name = "position_embedding"})(x);
  for (int i = 1; i <= kBlocks; ++i) {
    x = transformer_block(x, {.num_heads = kHeads,
                              .mlp_dim = 4 * kDim,
                              .kernel_initializer = kernels.initializer,
                              .kernel_regularizer = {.l2 = kernels.l2},
                              .name = fmt::format("block{}", i)});
  }
  x = LayerNormalization({.epsilon = 1e-6f, .name = "norm"})(x);
  x = SelectToken({.index = 0, .name = "select_class_token"})(x);
  return kernels.dense(x, {.units = o.classes, .name = "predictions"});
}

}  // namespace

Model vit_tiny(const Options& options) {
  return network("vit_tiny", options, body);
}

}  // namespace octet::zoo
