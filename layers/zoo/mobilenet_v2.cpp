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

struct Stage {
  int64_t filters;
  int blocks;
  int64_t stride;  // of the first block
};
constexpr Stage kStages[] = {{16, 1, 1}, {24, 2, 2},  {32, 3, 2}, {64, 4, 2},
                             {96, 3, 1}, {160, 3, 2}, {320, 1, 1}};
constexpr int64_t kExpansion = 6;

SymbolicTensor norm(const SymbolicTensor& x, const std::string& name) {
  return BatchNormalization({.momentum = 0.999f, .name = name})(x);
}

SymbolicTensor relu6(const SymbolicTensor& x, const std::string& name) {
  return ReLU({.max_value = 6, .name = name})(x);
}

// The first block does not expand.
SymbolicTensor block(const Kernels& kernels, const SymbolicTensor& x,
                     int64_t filters, int64_t stride, int id) {
  const int64_t channels = x.shape()[3];
  const std::string prefix =
      id == 0 ? "expanded_conv_" : fmt::format("block_{}_", id);
  SymbolicTensor y = x;
  if (id > 0) {
    y = kernels.conv(y, {.filters = kExpansion * channels,
                         .kernel_size = 1,
                         .padding = Padding::same,
                         .use_bias = false,
                         .name = prefix + "expand"});
    y = relu6(norm(y, prefix + "expand_BN"), prefix + "expand_relu");
  }
  if (stride == 2) {
    y = ZeroPadding2D(
        {.padding = pads_of_stride_two(y, 3), .name = prefix + "pad"})(y);
  }
  y = kernels.depthwise(
      y, {.strides = {stride, stride},
          .padding = stride == 1 ? Padding::same : Padding::valid,
          .use_bias = false,
          .name = prefix + "depthwise"});
  y = relu6(norm(y, prefix + "depthwise_BN"), prefix + "depthwise_relu");
  y = kernels.conv(y, {.filters = filters,
                       .kernel_size = 1,
                       .padding = Padding::same,
                       .use_bias = false,
                       .name = prefix + "project"});
  y = norm(y, prefix + "project_BN");
  if (channels != filters || stride != 1) return y;
  return Add({.name = prefix + "add"})({x, y});
}

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  const Kernels kernels{.l2 = o.l2, .initializer = glorot_uniform()};
  SymbolicTensor x =
      kernels.conv(image, {.filters = multiple_of_eight(32 * o.alpha),
                           .strides = 2,
                           .padding = Padding::same,
                           .use_bias = false,
                           .name = "Conv1"});
  x = relu6(norm(x, "bn_Conv1"), "Conv1_relu");
  int id = 0;
  for (const Stage& stage : kStages) {
    const auto scaled =
        static_cast<int64_t>(static_cast<double>(stage.filters) * o.alpha);
    const int64_t filters = multiple_of_eight(static_cast<double>(scaled));
    for (int i = 0; i < stage.blocks; ++i) {
      x = block(kernels, x, filters, i == 0 ? stage.stride : 1, id++);
    }
  }
  // Networks with alpha < 1 have the full width in the last convolution.
  x = kernels.conv(
      x, {.filters = o.alpha > 1 ? multiple_of_eight(1280 * o.alpha) : 1280,
          .kernel_size = 1,
          .use_bias = false,
          .name = "Conv_1"});
  x = relu6(norm(x, "Conv_1_bn"), "out_relu");
  x = GlobalAveragePooling2D()(x);
  return kernels.dense(x, {.units = o.classes, .name = "predictions"});
}

}  // namespace

Model mobilenet_v2(const Options& options) {
  return network("mobilenet_v2", options, body);
}

}  // namespace octet::zoo
