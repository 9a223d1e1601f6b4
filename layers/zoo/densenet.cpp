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

constexpr int64_t kGrowth = 32;
constexpr int kBlocks[] = {6, 12, 24, 16};

SymbolicTensor norm_relu(const SymbolicTensor& x, const std::string& norm,
                         const std::string& relu) {
  return Activation("relu", relu)(
      BatchNormalization({.epsilon = 1.001e-5f, .name = norm})(x));
}

// Adds kGrowth channels.
SymbolicTensor block(const Kernels& kernels, const SymbolicTensor& x,
                     const std::string& name) {
  SymbolicTensor y = norm_relu(x, name + "_0_bn", name + "_0_relu");
  y = kernels.conv(y, {.filters = 4 * kGrowth,
                       .kernel_size = 1,
                       .use_bias = false,
                       .name = name + "_1_conv"});
  y = norm_relu(y, name + "_1_bn", name + "_1_relu");
  y = kernels.conv(y, {.filters = kGrowth,
                       .padding = Padding::same,
                       .use_bias = false,
                       .name = name + "_2_conv"});
  return Concatenate({.name = name + "_concat"})({x, y});
}

// Halves the channels and the image.
SymbolicTensor transition(const Kernels& kernels, const SymbolicTensor& x,
                          const std::string& name) {
  SymbolicTensor y = norm_relu(x, name + "_bn", name + "_relu");
  y = kernels.conv(y, {.filters = x.shape()[3] / 2,
                       .kernel_size = 1,
                       .use_bias = false,
                       .name = name + "_conv"});
  return AveragePooling2D({.name = name + "_pool"})(y);
}

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  const Kernels kernels{.l2 = o.l2, .initializer = glorot_uniform()};
  SymbolicTensor x = ZeroPadding2D({.padding = 3})(image);
  x = kernels.conv(x, {.filters = 64,
                       .kernel_size = 7,
                       .strides = 2,
                       .use_bias = false,
                       .name = "conv1_conv"});
  x = norm_relu(x, "conv1_bn", "conv1_relu");
  x = ZeroPadding2D({.padding = 1})(x);
  x = MaxPooling2D({.pool_size = 3, .strides = 2, .name = "pool1"})(x);
  int stage = 2;
  for (const int blocks : kBlocks) {
    if (stage > 2) {
      x = transition(kernels, x, fmt::format("pool{}", stage - 1));
    }
    for (int i = 1; i <= blocks; ++i) {
      x = block(kernels, x, fmt::format("conv{}_block{}", stage, i));
    }
    ++stage;
  }
  x = GlobalAveragePooling2D({.name = "avg_pool"})(norm_relu(x, "bn", "relu"));
  return kernels.dense(x, {.units = o.classes, .name = "predictions"});
}

}  // namespace

Model densenet121(const Options& options) {
  return network("densenet121", options, body);
}

}  // namespace octet::zoo
