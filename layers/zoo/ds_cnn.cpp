#include <octet/layers/activation.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>
#include <octet/layers/regularization.h>
#include <octet/layers/reshaping.h>

#include "network.h"

namespace octet::zoo {
namespace {

constexpr int64_t kFilters = 64;
constexpr int kBlocks = 4;

SymbolicTensor norm_relu(const SymbolicTensor& x) {
  return Activation("relu")(BatchNormalization()(x));
}

SymbolicTensor body(const Options& o, const SymbolicTensor& spectrogram) {
  const Kernels kernels{.l2 = o.l2, .initializer = glorot_uniform()};
  SymbolicTensor x =
      norm_relu(kernels.conv(spectrogram, {.filters = kFilters,
                                           .kernel_size = {10, 4},
                                           .strides = 2,
                                           .padding = Padding::same}));
  x = Dropout({.rate = 0.2f})(x);
  for (int i = 0; i < kBlocks; ++i) {
    x = norm_relu(kernels.depthwise(x, {.padding = Padding::same}));
    x = norm_relu(kernels.conv(
        x, {.filters = kFilters, .kernel_size = 1, .padding = Padding::same}));
  }
  x = Dropout({.rate = 0.4f})(x);
  const Size2 rest{x.shape()[1], x.shape()[2]};
  x = Flatten()(AveragePooling2D({.pool_size = rest})(x));
  return kernels.dense(x, {.units = o.classes});
}

}  // namespace

Model ds_cnn(const Options& options) {
  return network("ds_cnn", options, body);
}

}  // namespace octet::zoo
