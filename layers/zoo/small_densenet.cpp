// DenseNet-BC of 40 layers for small images.
#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>

#include "network.h"

namespace octet::zoo {
namespace {

constexpr int64_t kGrowth = 12;
// Blocks in each of three stages: 40 layers = 2 * 3 * 6 convolutions in blocks,
// the first, two in transitions, and the classifier.
constexpr int kBlocks = 6;

SymbolicTensor norm_relu(const SymbolicTensor& x) {
  return Activation("relu")(BatchNormalization()(x));
}

// Adds kGrowth channels.
SymbolicTensor block(const Kernels& kernels, const SymbolicTensor& x) {
  SymbolicTensor y = kernels.conv(
      norm_relu(x),
      {.filters = 4 * kGrowth, .kernel_size = 1, .use_bias = false});
  y = kernels.conv(
      norm_relu(y),
      {.filters = kGrowth, .padding = Padding::same, .use_bias = false});
  return Concatenate()({x, y});
}

// Halves the channels and the image.
SymbolicTensor transition(const Kernels& kernels, const SymbolicTensor& x) {
  const SymbolicTensor y = kernels.conv(
      norm_relu(x),
      {.filters = x.shape()[3] / 2, .kernel_size = 1, .use_bias = false});
  return AveragePooling2D()(y);
}

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  const Kernels kernels{.l2 = o.l2, .initializer = he_normal()};
  SymbolicTensor x = kernels.conv(
      image,
      {.filters = 2 * kGrowth, .padding = Padding::same, .use_bias = false});
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) x = transition(kernels, x);
    for (int i = 0; i < kBlocks; ++i) x = block(kernels, x);
  }
  return kernels.dense(GlobalAveragePooling2D()(norm_relu(x)),
                       {.units = o.classes});
}

}  // namespace

Model densenet40(const Options& options) {
  return network("densenet40", options, body);
}

}  // namespace octet::zoo
