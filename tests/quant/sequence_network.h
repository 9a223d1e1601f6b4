// A network over sequences, or over single-row images.
#pragma once

#include <string>

#include <octet/layers/layers.h>

namespace octet {

/// The layers of the network, over sequences [24,c] or images [1,24,c].
struct SequenceParts {
  bool sequences;

  LayerHandle conv(const std::string& name, int64_t filters,
                   int64_t width) const {
    if (sequences) {
      return Conv1D({.filters = filters, .kernel_size = width, .name = name});
    }
    return Conv2D(
        {.filters = filters, .kernel_size = {1, width}, .name = name});
  }
  LayerHandle depthwise(const std::string& name) const {
    if (sequences) return DepthwiseConv1D({.padding = "same", .name = name});
    return DepthwiseConv2D(
        {.kernel_size = {1, 3}, .padding = "same", .name = name});
  }
  LayerHandle separable(const std::string& name) const {
    if (sequences) {
      return SeparableConv1D({.filters = 16, .padding = "same", .name = name});
    }
    return SeparableConv2D({.filters = 16,
                            .kernel_size = {1, 3},
                            .padding = "same",
                            .name = name});
  }
  LayerHandle pad(const std::string& name) const {
    if (sequences) return ZeroPadding1D({.padding = {2, 0}, .name = name});
    return ZeroPadding2D({.padding = {{0, 0}, {2, 0}}, .name = name});
  }
  LayerHandle max_pool(const std::string& name) const {
    if (sequences) return MaxPooling1D({.name = name});
    return MaxPooling2D({.pool_size = {1, 2}, .name = name});
  }
  LayerHandle average_pool(const std::string& name) const {
    if (sequences) return AveragePooling1D({.name = name});
    return AveragePooling2D({.pool_size = {1, 2}, .name = name});
  }
  LayerHandle global(const std::string& name, bool keepdims) const {
    if (sequences) {
      return GlobalAveragePooling1D({.keepdims = keepdims, .name = name});
    }
    return GlobalAveragePooling2D({.keepdims = keepdims, .name = name});
  }
};

/// A stem with a pad and a pool, a residual block, a gate, average pools.
inline Model sequence_network(bool sequences) {
  const SequenceParts parts{sequences};
  const auto block = [&](const SymbolicTensor& x, const std::string& name) {
    return ReLU({.name = name + "_relu"})(
        BatchNormalization({.name = name + "_bn"})(x));
  };
  const SymbolicTensor x =
      input(sequences ? Shape{24, 3} : Shape{1, 24, 3}, "x");
  SymbolicTensor y = parts.conv("stem", 16, 3)(parts.pad("pad")(x));
  y = parts.max_pool("pool")(block(y, "stem"));
  SymbolicTensor z = block(parts.depthwise("depthwise")(y), "depthwise");
  z = BatchNormalization({.name = "project_bn"})(
      parts.conv("project", 16, 1)(z));
  y = ReLU({.name = "out"})(Add({.name = "add"})({z, y}));
  SymbolicTensor gate = parts.global("squeeze", true)(y);
  gate = Dense({.units = 16, .activation = "sigmoid", .name = "gate"})(gate);
  y = parts.separable("separable")(Multiply({.name = "gated"})({y, gate}));
  y = parts.conv("last", 20, 2)(parts.average_pool("average")(block(y, "sep")));
  const SymbolicTensor scores =
      Dense({.units = 3, .name = "scores"})(parts.global("gap", false)(y));
  return Model(x, scores, {.name = "network"});
}

}  // namespace octet
