#include <string>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>
#include <octet/layers/regularization.h>
#include <octet/layers/reshaping.h>

#include "network.h"

namespace octet::zoo {
namespace {

// A depthwise convolution with this stride, then a 1x1 convolution to
// `filters`.
struct Block {
  int64_t filters;
  int64_t stride;
};
constexpr Block kBlocks[] = {
    {64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2},  {512, 1},
    {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1},
};

int64_t scaled(int64_t filters, double alpha) {
  return static_cast<int64_t>(static_cast<double>(filters) * alpha);
}

SymbolicTensor norm_relu6(const SymbolicTensor& x, const std::string& prefix) {
  const SymbolicTensor y = BatchNormalization({.name = prefix + "_bn"})(x);
  return ReLU({.max_value = 6, .name = prefix + "_relu"})(y);
}

SymbolicTensor keras_body(const Options& o, const SymbolicTensor& image) {
  const Kernels kernels{.l2 = o.l2, .initializer = glorot_uniform()};
  SymbolicTensor x = kernels.conv(image, {.filters = scaled(32, o.alpha),
                                          .strides = 2,
                                          .padding = Padding::same,
                                          .use_bias = false,
                                          .name = "conv1"});
  x = norm_relu6(x, "conv1");
  int id = 0;
  for (const auto& [filters, stride] : kBlocks) {
    ++id;
    if (stride == 2) {
      x = ZeroPadding2D({.padding = {{0, 1}, {0, 1}},
                         .name = fmt::format("conv_pad_{}", id)})(x);
    }
    const std::string depthwise = fmt::format("conv_dw_{}", id);
    x = kernels.depthwise(
        x, {.strides = {stride, stride},
            .padding = stride == 1 ? Padding::same : Padding::valid,
            .use_bias = false,
            .name = depthwise});
    x = norm_relu6(x, depthwise);
    const std::string pointwise = fmt::format("conv_pw_{}", id);
    x = kernels.conv(x, {.filters = scaled(filters, o.alpha),
                         .kernel_size = 1,
                         .padding = Padding::same,
                         .use_bias = false,
                         .name = pointwise});
    x = norm_relu6(x, pointwise);
  }
  x = GlobalAveragePooling2D({.keepdims = true})(x);
  x = Dropout({.rate = 1e-3f, .name = "dropout"})(x);
  x = kernels.conv(x, {.filters = o.classes,
                       .kernel_size = 1,
                       .padding = Padding::same,
                       .name = "conv_preds"});
  x = Reshape({.target_shape = {o.classes}, .name = "reshape_2"})(x);
  return Activation("linear", "predictions")(x);
}

SymbolicTensor norm_relu(const SymbolicTensor& x) {
  return Activation("relu")(BatchNormalization()(x));
}

// Unlike Keras' MobileNet: biases, plain ReLU and symmetric padding.
SymbolicTensor tiny_body(const Options& o, const SymbolicTensor& image) {
  const Kernels kernels{.l2 = o.l2, .initializer = he_normal()};
  SymbolicTensor x = kernels.conv(
      image,
      {.filters = scaled(32, o.alpha), .strides = 2, .padding = Padding::same});
  x = norm_relu(x);
  for (const auto& [filters, stride] : kBlocks) {
    x = norm_relu(kernels.depthwise(
        x, {.strides = {stride, stride}, .padding = Padding::same}));
    x = norm_relu(kernels.conv(x, {.filters = scaled(filters, o.alpha),
                                   .kernel_size = 1,
                                   .padding = Padding::same}));
  }
  const Size2 rest{x.shape()[1], x.shape()[2]};
  x = Flatten()(AveragePooling2D({.pool_size = rest})(x));
  Kernels head = kernels;
  head.initializer = glorot_uniform();
  return head.dense(x, {.units = o.classes});
}

}  // namespace

Model mobilenet(const Options& options) {
  return network("mobilenet", options, keras_body);
}
Model mobilenet_v1_025(const Options& options) {
  return network("mobilenet_v1_025", options, tiny_body);
}

}  // namespace octet::zoo
