#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/convolution.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>

#include "network.h"

namespace octet::zoo {
namespace {

constexpr int kLevels = 3;
constexpr int64_t kFilters = 16;  // of the first level, doubled at each level

SymbolicTensor twice(const Kernels& kernels, SymbolicTensor x, int64_t filters,
                     const std::string& name) {
  for (int i = 1; i <= 2; ++i) {
    const std::string prefix = fmt::format("{}_{}", name, i);
    x = kernels.conv(x, {.filters = filters,
                         .padding = Padding::same,
                         .use_bias = false,
                         .name = prefix + "_conv"});
    x = BatchNormalization({.name = prefix + "_bn"})(x);
    x = ReLU({.name = prefix + "_relu"})(x);
  }
  return x;
}

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  expect_multiples(o.input, int64_t{1} << kLevels);
  const Kernels kernels{.l2 = o.l2, .initializer = he_normal()};
  SymbolicTensor x = image;
  std::vector<SymbolicTensor> skips;
  int64_t filters = kFilters;
  for (int level = 1; level <= kLevels; ++level, filters *= 2) {
    skips.push_back(twice(kernels, x, filters, fmt::format("down{}", level)));
    x = MaxPooling2D({.name = fmt::format("down{}_pool", level)})(skips.back());
  }
  x = twice(kernels, x, filters, "bottom");
  for (int level = kLevels; level >= 1; --level) {
    filters /= 2;
    const std::string name = fmt::format("up{}", level);
    x = Conv2DTranspose({.filters = filters,
                         .kernel_size = 2,
                         .strides = 2,
                         .kernel_initializer = kernels.initializer,
                         .kernel_regularizer = {.l2 = kernels.l2},
                         .name = name + "_deconv"})(x);
    x = Concatenate({.name = name + "_concat"})(
        {skips[static_cast<size_t>(level - 1)], x});
    x = twice(kernels, x, filters, name);
  }
  return kernels.conv(
      x, {.filters = o.classes, .kernel_size = 1, .name = "predictions"});
}

}  // namespace

Model unet(const Options& options) { return network("unet", options, body); }

}  // namespace octet::zoo
