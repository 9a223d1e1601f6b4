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

enum class Block { basic, bottleneck };

struct Conv {
  int64_t filters;
  int64_t window = 1;
  int64_t stride = 1;
};

// Builds the layers of a network. `biases` applies to convolutions.
struct ResNet {
  Kernels kernels;
  Block kind;
  bool biases;

  SymbolicTensor conv_norm(const SymbolicTensor& x, const Conv& c,
                           const std::string& prefix) const {
    const SymbolicTensor y = kernels.conv(
        x, {.filters = c.filters,
            .kernel_size = {c.window, c.window},
            .strides = {c.stride, c.stride},
            .padding = c.window == 3 ? Padding::same : Padding::valid,
            .use_bias = biases,
            .name = prefix + "_conv"});
    return BatchNormalization({.epsilon = 1.001e-5f, .name = prefix + "_bn"})(
        y);
  }

  SymbolicTensor block(const SymbolicTensor& x, int64_t filters, int64_t stride,
                       const std::string& name) const {
    const bool basic = kind == Block::basic;
    const int64_t out = basic ? filters : 4 * filters;
    const SymbolicTensor shortcut =
        stride != 1 || x.shape()[3] != out
            ? conv_norm(x, {out, 1, stride}, name + "_0")
            : x;
    const Conv convs[] = {
        {filters, basic ? 3 : 1, stride}, {filters, 3, 1}, {out, 1, 1}};
    SymbolicTensor y = x;
    for (int i = 1, n = basic ? 2 : 3; i <= n; ++i) {
      const std::string prefix = fmt::format("{}_{}", name, i);
      y = conv_norm(y, convs[i - 1], prefix);
      if (i < n) y = Activation("relu", prefix + "_relu")(y);
    }
    y = Add({.name = name + "_add"})({shortcut, y});
    return Activation("relu", name + "_out")(y);
  }
};

Model resnet(std::string_view name, Block kind, std::span<const int> blocks,
             const Options& options) {
  return network(name, options, [&](const Options& o, SymbolicTensor x) {
    const ResNet net{{.l2 = o.l2, .initializer = glorot_uniform()},
                     kind,
                     kind == Block::bottleneck};
    x = ZeroPadding2D({.padding = 3, .name = "conv1_pad"})(x);
    x = net.conv_norm(x, {64, 7, 2}, "conv1");
    x = Activation("relu", "conv1_relu")(x);
    x = ZeroPadding2D({.padding = 1, .name = "pool1_pad"})(x);
    x = MaxPooling2D({.pool_size = 3, .strides = 2, .name = "pool1_pool"})(x);
    int64_t filters = 64;
    for (size_t stage = 0; stage < blocks.size(); ++stage, filters *= 2) {
      for (int i = 1; i <= blocks[stage]; ++i) {
        x = net.block(x, filters, i == 1 && stage > 0 ? 2 : 1,
                      fmt::format("conv{}_block{}", stage + 2, i));
      }
    }
    x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
    return net.kernels.dense(x, {.units = o.classes, .name = "predictions"});
  });
}

constexpr int k18[] = {2, 2, 2, 2};
constexpr int k50[] = {3, 4, 6, 3};
constexpr int k101[] = {3, 4, 23, 3};

}  // namespace

Model resnet18(const Options& options) {
  return resnet("resnet18", Block::basic, k18, options);
}
Model resnet50(const Options& options) {
  return resnet("resnet50", Block::bottleneck, k50, options);
}
Model resnet101(const Options& options) {
  return resnet("resnet101", Block::bottleneck, k101, options);
}

}  // namespace octet::zoo
