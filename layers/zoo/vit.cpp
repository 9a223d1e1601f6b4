#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/normalization.h>

#include "network.h"

namespace octet::zoo {
namespace {

constexpr int64_t kPatch = 16;
constexpr double kHeads = 3;
constexpr int64_t kHeadDim = 64;
constexpr int kBlocks = 12;

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  const int64_t patch = o.patch_size == 0 ? kPatch : o.patch_size;
  expect_multiples(o.input, patch);
  const int64_t heads = std::max<int64_t>(1, std::llround(kHeads * o.alpha));
  const int64_t dim = heads * kHeadDim;
  const Kernels kernels{.l2 = o.l2, .initializer = truncated_normal(0, 0.02)};
  SymbolicTensor x =
      patch_embedding(image, {.patch_size = {patch, patch},
                              .dim = dim,
                              .kernel_initializer = kernels.initializer,
                              .kernel_regularizer = {.l2 = kernels.l2},
                              .name = "patch_embedding"});
  x = ClassToken({.name = "class_token"})(x);
  x = PositionEmbedding({.name = "position_embedding"})(x);
  for (int i = 1; i <= kBlocks; ++i) {
    x = transformer_block(x, {.num_heads = heads,
                              .mlp_dim = 4 * dim,
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
