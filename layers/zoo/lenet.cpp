#include <octet/layers/activation.h>
#include <octet/layers/pooling.h>
#include <octet/layers/reshaping.h>

#include "network.h"

namespace octet::zoo {
namespace {

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  const Kernels kernels{.l2 = o.l2, .initializer = glorot_uniform()};
  SymbolicTensor x = kernels.conv(image, {.filters = 6,
                                          .kernel_size = 5,
                                          .padding = Padding::same,
                                          .name = "conv1"});
  x = MaxPooling2D({.name = "pool1"})(ReLU({.name = "relu1"})(x));
  x = kernels.conv(x, {.filters = 16, .kernel_size = 5, .name = "conv2"});
  x = MaxPooling2D({.name = "pool2"})(ReLU({.name = "relu2"})(x));
  x = Flatten({.name = "flatten"})(x);
  x = ReLU({.name = "relu3"})(kernels.dense(x, {.units = 120, .name = "fc1"}));
  x = ReLU({.name = "relu4"})(kernels.dense(x, {.units = 84, .name = "fc2"}));
  return kernels.dense(x, {.units = o.classes, .name = "predictions"});
}

}  // namespace

Model lenet(const Options& options) { return network("lenet", options, body); }

}  // namespace octet::zoo
