// ResNets for small images. Layers are unnamed, so Model numbers them, as Keras
// did in the files of MLPerf Tiny.
#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>
#include <octet/layers/reshaping.h>

#include "network.h"

namespace octet::zoo {
namespace {

SymbolicTensor relu(const SymbolicTensor& x) { return Activation("relu")(x); }

// The shortcut of a widening block is a convolution without normalization.
SymbolicTensor block(const Kernels& kernels, const SymbolicTensor& x,
                     int64_t filters, int64_t stride) {
  const auto conv = [&](const SymbolicTensor& from, int64_t window,
                        int64_t step) {
    return kernels.conv(from, {.filters = filters,
                               .kernel_size = {window, window},
                               .strides = {step, step},
                               .padding = Padding::same});
  };
  SymbolicTensor y = relu(BatchNormalization()(conv(x, 3, stride)));
  y = BatchNormalization()(conv(y, 3, 1));
  const bool wider = x.shape()[3] != filters;
  return relu(Add()({wider ? conv(x, 1, stride) : x, y}));
}

Model cifar_resnet(std::string_view name, int blocks, const Options& options) {
  return network(name, options, [&](const Options& o, SymbolicTensor x) {
    const Kernels kernels{.l2 = o.l2, .initializer = he_normal()};
    x = kernels.conv(x, {.filters = 16, .padding = Padding::same});
    x = relu(BatchNormalization()(x));
    for (const int64_t filters : {16, 32, 64}) {
      for (int i = 0; i < blocks; ++i) {
        x = block(kernels, x, filters, i == 0 && filters > 16 ? 2 : 1);
      }
    }
    const Size2 image{x.shape()[1], x.shape()[2]};
    x = Flatten()(AveragePooling2D({.pool_size = image})(x));
    return kernels.dense(x, {.units = o.classes});
  });
}

}  // namespace

Model resnet8(const Options& options) {
  return cifar_resnet("resnet8", 1, options);
}
Model resnet20(const Options& options) {
  return cifar_resnet("resnet20", 3, options);
}

}  // namespace octet::zoo
