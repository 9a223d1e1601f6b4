// Networks of the toolkit's tests. Model numbers unnamed layers in the
// toolkit's order.
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

Kernels kernels_of(const Options& o) {
  return {.l2 = o.l2, .initializer = glorot_uniform()};
}

// [h,w] -> [h,w,1].
SymbolicTensor as_image(const SymbolicTensor& x, const std::string& name = "") {
  return Reshape(
      {.target_shape = {x.shape()[1], x.shape()[2], 1}, .name = name})(x);
}

SymbolicTensor numbered_relu(const SymbolicTensor& x, int number) {
  return ReLU({.name = fmt::format("relu_{}", number)})(x);
}

SymbolicTensor norm_relu(const SymbolicTensor& x) {
  return ReLU()(BatchNormalization()(x));
}

SymbolicTensor classifier(const Options& o, SymbolicTensor x) {
  const Kernels kernels = kernels_of(o);
  x = Flatten()(MaxPooling2D()(x));
  x = ReLU()(kernels.dense(x, {.units = 100}));
  return kernels.dense(x, {.units = o.classes});
}

// Residual blocks, with or without normalization.
struct Residual {
  Kernels kernels;
  bool normalized;

  SymbolicTensor conv(const SymbolicTensor& x, int64_t filters,
                      int64_t stride) const {
    const SymbolicTensor y = kernels.conv(x, {.filters = filters,
                                              .strides = {stride, stride},
                                              .padding = Padding::same});
    return normalized ? BatchNormalization()(y) : y;
  }

  SymbolicTensor identity(const SymbolicTensor& x) const {
    const SymbolicTensor y = conv(ReLU()(conv(x, 12, 1)), 24, 1);
    return ReLU()(Add()({y, x}));
  }

  SymbolicTensor shortened(const SymbolicTensor& x) const {
    const SymbolicTensor y = conv(ReLU()(conv(x, 12, 1)), 24, 2);
    const SymbolicTensor shortcut = conv(x, 24, 2);
    return ReLU()(Add()({y, shortcut}));
  }
};

}  // namespace

Model otho(const Options& options) {
  return network("otho", options, [](const Options& o, SymbolicTensor x) {
    x = as_image(x, "reshape_0");
    for (int i = 0; i < 2; ++i) {
      x = kernels_of(o).conv(x,
                             {.filters = 2, .name = fmt::format("conv_{}", i)});
      x = numbered_relu(x, i);
    }
    return Flatten({.name = "flatten_0"})(x);
  });
}

Model lotho(const Options& options) {
  return network("lotho", options, [](const Options& o, SymbolicTensor x) {
    x = as_image(x, "reshape_0");
    for (int i = 0; i < 2; ++i) {
      x = kernels_of(o).depthwise(x, {.name = fmt::format("dconv_{}", i)});
      x = numbered_relu(x, i);
    }
    return Flatten({.name = "flatten_0"})(x);
  });
}

Model lobelia(const Options& options) {
  return network("lobelia", options, [](const Options& o, SymbolicTensor x) {
    const Kernels kernels = kernels_of(o);
    x = Flatten({.name = "flatten_0"})(as_image(x, "reshape_0"));
    x = numbered_relu(kernels.dense(x, {.units = 100, .name = "dense_0"}), 0);
    return kernels.dense(x, {.units = o.classes, .name = "dense_1"});
  });
}

Model bilbo(const Options& options) {
  return network("bilbo", options, [](const Options& o, SymbolicTensor x) {
    const Kernels kernels = kernels_of(o);
    x = as_image(x, "reshape_0");
    int i = 0;
    for (const double filters : {516, 252, 126, 64, 32, 16, 8}) {
      x = kernels.conv(x, {.filters = static_cast<int64_t>(filters * o.alpha),
                           .name = fmt::format("conv_{}", i)});
      x = numbered_relu(x, i++);
    }
    x = MaxPooling2D({.name = "max_pool_0"})(x);
    x = Flatten({.name = "flatten_0"})(x);
    x = numbered_relu(kernels.dense(x, {.units = 100, .name = "dense_0"}), i);
    return kernels.dense(x, {.units = o.classes, .name = "dense_1"});
  });
}

Model frodo(const Options& options) {
  return network("frodo", options, [](const Options& o, SymbolicTensor x) {
    const Residual blocks{kernels_of(o), false};
    x = ReLU()(blocks.kernels.conv(x, {.filters = 12}));
    x = ReLU()(blocks.kernels.conv(x, {.filters = 24}));
    x = blocks.identity(MaxPooling2D()(x));
    return classifier(o, blocks.shortened(x));
  });
}

Model sam(const Options& options) {
  return network("sam", options, [](const Options& o, SymbolicTensor x) {
    const Residual blocks{kernels_of(o), false};
    x = ReLU()(blocks.kernels.conv(x, {.filters = 12}));
    x = ReLU()(blocks.kernels.conv(x, {.filters = 24}));
    x = blocks.identity(blocks.identity(x));
    return classifier(o, blocks.shortened(x));
  });
}

Model merry(const Options& options) {
  return network("merry", options, [](const Options& o, SymbolicTensor x) {
    const Kernels kernels = kernels_of(o);
    x = as_image(x);
    x = norm_relu(kernels.conv(x, {.filters = 8}));
    x = norm_relu(kernels.conv(x, {.filters = 12}));
    // The toolkit builds a third branch here and does not use it.
    const SymbolicTensor one = norm_relu(kernels.conv(
        x, {.filters = 12, .kernel_size = 1, .padding = Padding::same}));
    SymbolicTensor five = kernels.conv(
        x, {.filters = 12, .kernel_size = 1, .padding = Padding::same});
    five = norm_relu(kernels.conv(
        five, {.filters = 24, .kernel_size = 5, .padding = Padding::same}));
    return classifier(o, Concatenate()({one, five}));
  });
}

Model pippin(const Options& options) {
  return network("pippin", options, [](const Options& o, SymbolicTensor x) {
    const Residual blocks{kernels_of(o), true};
    x = norm_relu(blocks.kernels.conv(as_image(x), {.filters = 12}));
    x = norm_relu(blocks.kernels.conv(x, {.filters = 24}));
    return classifier(o, blocks.shortened(blocks.identity(x)));
  });
}

}  // namespace octet::zoo
