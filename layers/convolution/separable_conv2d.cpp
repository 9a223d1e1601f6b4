#include <octet/layers/convolution.h>

#include "convolution/separable_conv_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SeparableConv2DOptions& o) {
  separable_conv_fields(v, o);
}

SeparableConv2D::SeparableConv2D(const SeparableConv2DOptions& options)
    : LayerHandle(make_layer<SeparableConvLayer<SeparableConv2DOptions>>(
          "SeparableConv2D", options)) {}

extern const LayerDef separable_conv2d_def;
const LayerDef separable_conv2d_def{
    .class_name = "SeparableConv2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SeparableConvLayer<SeparableConv2DOptions>>(
          read_fields<SeparableConv2DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true,
            .weight = "depthwise_kernel",
            .second_weight = "pointwise_kernel",
            .intermediate = kSeparableIntermediate},
    .folded = {.parameter = "pointwise_kernel",
               .first_axis = 3,
               .last_axis = 4},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"SeparableConvolution2D"},
              .has_activation = true},
};

}  // namespace octet
