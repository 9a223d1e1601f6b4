#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>
#include <octet/layers/preprocessing.h>
#include <octet/layers/regularization.h>
#include <octet/layers/reshaping.h>

#include "network.h"

namespace octet::zoo {
namespace {

struct Stage {
  int64_t window;
  int blocks;
  int64_t filters;
  int64_t expansion;
  int64_t stride;  // of the first block
};
// Source: Tan and Le, table 1.
constexpr Stage kStages[] = {
    {3, 1, 16, 1, 1},  {3, 2, 24, 6, 2},  {5, 2, 40, 6, 2}, {3, 3, 80, 6, 2},
    {5, 3, 112, 6, 1}, {5, 4, 192, 6, 2}, {3, 1, 320, 6, 1}};
// Scaling of the larger networks of the family.
// Source: keras.applications.efficientnet, EfficientNetB0 and EfficientNetB3.
struct Scaling {
  double width = 1;  // filters
  double depth = 1;  // blocks per stage
  float dropout = 0.2f;
  // Source: keras.applications.efficientnet, round_filters and round_repeats.
  int64_t filters(int64_t base) const {
    const double wanted = static_cast<double>(base) * width;
    const int64_t nearest =
        std::max(int64_t{8}, static_cast<int64_t>(wanted + 4) / 8 * 8);
    return static_cast<double>(nearest) < 0.9 * wanted ? nearest + 8 : nearest;
  }
  int blocks(const Stage& stage) const {
    return static_cast<int>(std::ceil(depth * stage.blocks));
  }
};
// Drop rate of the last block, increasing linearly from 0 at the first.
constexpr double kDropConnect = 0.2;

SymbolicTensor norm_swish(const SymbolicTensor& x, const std::string& norm,
                          const std::string& activation) {
  return Activation("silu", activation)(BatchNormalization({.name = norm})(x));
}

// Squeeze-and-excitation: scales each channel by a gate computed from channel
// means.
SymbolicTensor excited(const Kernels& kernels, const SymbolicTensor& x,
                       int64_t squeezed, const std::string& name) {
  const int64_t channels = x.shape()[3];
  SymbolicTensor y = GlobalAveragePooling2D({.name = name + "se_squeeze"})(x);
  y = Reshape({.target_shape = {1, 1, channels}, .name = name + "se_reshape"})(
      y);
  y = kernels.conv(y, {.filters = squeezed,
                       .kernel_size = 1,
                       .padding = Padding::same,
                       .activation = "silu",
                       .name = name + "se_reduce"});
  y = kernels.conv(y, {.filters = channels,
                       .kernel_size = 1,
                       .padding = Padding::same,
                       .activation = "sigmoid",
                       .name = name + "se_expand"});
  return Multiply({.name = name + "se_excite"})({x, y});
}

SymbolicTensor block(const Kernels& kernels, const SymbolicTensor& x,
                     const Stage& stage, int64_t stride, double drop,
                     const std::string& name) {
  const int64_t channels = x.shape()[3];
  SymbolicTensor y = x;
  if (stage.expansion != 1) {
    y = kernels.conv(y, {.filters = stage.expansion * channels,
                         .kernel_size = 1,
                         .padding = Padding::same,
                         .use_bias = false,
                         .name = name + "expand_conv"});
    y = norm_swish(y, name + "expand_bn", name + "expand_activation");
  }
  if (stride == 2) {
    y = ZeroPadding2D({.padding = pads_of_stride_two(y, stage.window),
                       .name = name + "dwconv_pad"})(y);
  }
  y = kernels.depthwise(
      y, {.kernel_size = {stage.window, stage.window},
          .strides = {stride, stride},
          .padding = stride == 1 ? Padding::same : Padding::valid,
          .use_bias = false,
          .name = name + "dwconv"});
  y = norm_swish(y, name + "bn", name + "activation");
  y = excited(kernels, y, std::max(int64_t{1}, channels / 4), name);
  y = kernels.conv(y, {.filters = stage.filters,
                       .kernel_size = 1,
                       .padding = Padding::same,
                       .use_bias = false,
                       .name = name + "project_conv"});
  y = BatchNormalization({.name = name + "project_bn"})(y);
  if (stride != 1 || channels != stage.filters) return y;
  // Drops whole samples.
  y = Dropout({.rate = static_cast<float>(drop),
               .noise_shape = {Shape::kAnySize, 1, 1, 1},
               .name = name + "drop"})(y);
  return Add({.name = name + "add"})({y, x});
}

SymbolicTensor body(const Options& o, const SymbolicTensor& image,
                    const Scaling& scaling) {
  // Source: keras.applications.efficientnet, CONV_KERNEL_INITIALIZER and
  // DENSE_KERNEL_INITIALIZER.
  const Kernels kernels{
      .l2 = o.l2,
      .initializer = Initializer(Initializer::Spread::truncated_normal, 2, 0,
                                 Initializer::Fan::out)};
  const Kernels head{
      .l2 = o.l2,
      .initializer = Initializer(Initializer::Spread::uniform, 1.0 / 3, 0,
                                 Initializer::Fan::out)};
  SymbolicTensor x = Rescaling({.scale = {1.0f / 255}})(image);
  x = Normalization()(x);
  x = ZeroPadding2D(
      {.padding = pads_of_stride_two(x, 3), .name = "stem_conv_pad"})(x);
  x = kernels.conv(x, {.filters = scaling.filters(32),
                       .strides = 2,
                       .use_bias = false,
                       .name = "stem_conv"});
  x = norm_swish(x, "stem_bn", "stem_activation");
  int blocks = 0;
  for (const Stage& stage : kStages) blocks += scaling.blocks(stage);
  int done = 0;
  int number = 0;
  for (Stage stage : kStages) {
    ++number;
    stage.filters = scaling.filters(stage.filters);
    for (int i = 0; i < scaling.blocks(stage); ++i, ++done) {
      x = block(kernels, x, stage, i == 0 ? stage.stride : 1,
                kDropConnect * done / blocks,
                fmt::format("block{}{}_", number, static_cast<char>('a' + i)));
    }
  }
  x = kernels.conv(x, {.filters = scaling.filters(1280),
                       .kernel_size = 1,
                       .padding = Padding::same,
                       .use_bias = false,
                       .name = "top_conv"});
  x = norm_swish(x, "top_bn", "top_activation");
  x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
  x = Dropout({.rate = scaling.dropout, .name = "top_dropout"})(x);
  return head.dense(x, {.units = o.classes, .name = "predictions"});
}

}  // namespace

Model efficientnet_b0(const Options& options) {
  return network("efficientnet_b0", options,
                 [](const Options& o, const SymbolicTensor& image) {
                   return body(o, image, {.width = o.alpha});
                 });
}

Model efficientnet_b3(const Options& options) {
  return network("efficientnet_b3", options,
                 [](const Options& o, const SymbolicTensor& image) {
                   return body(
                       o, image,
                       {.width = o.alpha, .depth = 1.4, .dropout = 0.3f});
                 });
}

}  // namespace octet::zoo
