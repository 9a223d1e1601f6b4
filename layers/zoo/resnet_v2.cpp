#include <span>
#include <string>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>
#include <octet/layers/reshaping.h>

#include "network.h"

namespace octet::zoo {
namespace {

SymbolicTensor norm_relu(const SymbolicTensor& x, const std::string& prefix) {
  const SymbolicTensor y =
      BatchNormalization({.epsilon = 1.001e-5f, .name = prefix + "_bn"})(x);
  return Activation("relu", prefix + "_relu")(y);
}

struct BlockPlace {
  int64_t filters;
  int64_t stride;
  bool first;  // block of its stage: the shortcut is a convolution
};

// Normalization and ReLU precede the convolutions; the last block of a stage
// has the stride.
SymbolicTensor block(const Kernels& kernels, const SymbolicTensor& x,
                     const BlockPlace& at, const std::string& name) {
  const Size2 strides{at.stride, at.stride};
  const SymbolicTensor preact = norm_relu(x, name + "_preact");
  SymbolicTensor shortcut = x;
  if (at.first) {
    shortcut = kernels.conv(preact, {.filters = 4 * at.filters,
                                     .kernel_size = 1,
                                     .strides = strides,
                                     .name = name + "_0_conv"});
  } else if (at.stride > 1) {
    shortcut = MaxPooling2D({.pool_size = 1, .strides = strides})(x);
  }
  SymbolicTensor y = kernels.conv(preact, {.filters = at.filters,
                                           .kernel_size = 1,
                                           .use_bias = false,
                                           .name = name + "_1_conv"});
  y = norm_relu(y, name + "_1");
  y = ZeroPadding2D({.padding = 1, .name = name + "_2_pad"})(y);
  y = kernels.conv(y, {.filters = at.filters,
                       .strides = strides,
                       .use_bias = false,
                       .name = name + "_2_conv"});
  y = norm_relu(y, name + "_2");
  y = kernels.conv(
      y,
      {.filters = 4 * at.filters, .kernel_size = 1, .name = name + "_3_conv"});
  return Add({.name = name + "_out"})({shortcut, y});
}

Model resnet_v2(std::string_view name, std::span<const int> blocks,
                const Options& options) {
  return network(name, options, [&](const Options& o, SymbolicTensor x) {
    const Kernels kernels{.l2 = o.l2, .initializer = glorot_uniform()};
    x = ZeroPadding2D({.padding = 3, .name = "conv1_pad"})(x);
    x = kernels.conv(
        x,
        {.filters = 64, .kernel_size = 7, .strides = 2, .name = "conv1_conv"});
    x = ZeroPadding2D({.padding = 1, .name = "pool1_pad"})(x);
    x = MaxPooling2D({.pool_size = 3, .strides = 2, .name = "pool1_pool"})(x);
    int64_t filters = 64;
    for (size_t stage = 0; stage < blocks.size(); ++stage, filters *= 2) {
      const bool last_stage = stage + 1 == blocks.size();
      for (int i = 1; i <= blocks[stage]; ++i) {
        const bool halves = i == blocks[stage] && !last_stage;
        x = block(kernels, x, {filters, halves ? 2 : 1, i == 1},
                  fmt::format("conv{}_block{}", stage + 2, i));
      }
    }
    x = GlobalAveragePooling2D({.name = "avg_pool"})(norm_relu(x, "post"));
    return kernels.dense(x, {.units = o.classes, .name = "predictions"});
  });
}

constexpr int k50[] = {3, 4, 6, 3};
constexpr int k101[] = {3, 4, 23, 3};

}  // namespace

Model resnet50_v2(const Options& options) {
  return resnet_v2("resnet50_v2", k50, options);
}
Model resnet101_v2(const Options& options) {
  return resnet_v2("resnet101_v2", k101, options);
}

}  // namespace octet::zoo
