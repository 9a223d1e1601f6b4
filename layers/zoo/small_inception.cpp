// An Inception for small images.
#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>

#include "network.h"

namespace octet::zoo {
namespace {

class Blocks {
 public:
  explicit Blocks(const Options& o)
      : kernels_{.l2 = o.l2, .initializer = he_normal()}, alpha_(o.alpha) {}

  SymbolicTensor conv(const SymbolicTensor& x, double filters, int64_t window,
                      int64_t stride = 1) const {
    const SymbolicTensor y =
        kernels_.conv(x, {.filters = multiple_of_eight(filters * alpha_),
                          .kernel_size = {window, window},
                          .strides = {stride, stride},
                          .padding = Padding::same,
                          .use_bias = false});
    return Activation("relu")(BatchNormalization({.scale = false})(y));
  }

  SymbolicTensor inception(const SymbolicTensor& x, double ones,
                           double threes) const {
    const SymbolicTensor one = conv(x, ones, 1);
    return Concatenate()({one, conv(x, threes, 3)});
  }

  // Halves the image.
  SymbolicTensor downsample(const SymbolicTensor& x, double filters) const {
    const SymbolicTensor strided = conv(x, filters, 3, 2);
    const SymbolicTensor pooled = MaxPooling2D(
        {.pool_size = 3, .strides = 2, .padding = Padding::same})(x);
    return Concatenate()({strided, pooled});
  }

  SymbolicTensor classifier(const SymbolicTensor& x, int64_t classes) const {
    return kernels_.dense(GlobalAveragePooling2D()(x), {.units = classes});
  }

 private:
  Kernels kernels_;
  double alpha_;
};

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  const Blocks blocks(o);
  SymbolicTensor x = blocks.conv(image, 96, 3);
  x = blocks.inception(x, 32, 32);
  x = blocks.inception(x, 32, 48);
  x = blocks.downsample(x, 80);
  x = blocks.inception(x, 112, 48);
  x = blocks.inception(x, 96, 64);
  x = blocks.inception(x, 80, 80);
  x = blocks.inception(x, 48, 96);
  x = blocks.downsample(x, 96);
  x = blocks.inception(x, 176, 160);
  x = blocks.inception(x, 176, 160);
  return blocks.classifier(x, o.classes);
}

}  // namespace

Model inception_small(const Options& options) {
  return network("inception_small", options, body);
}

}  // namespace octet::zoo
