#include <octet/layers/convolution.h>

#include "convolution/depthwise_conv_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, DepthwiseConv2DOptions& o) {
  depthwise_conv_fields(v, o);
}

DepthwiseConv2D::DepthwiseConv2D(const DepthwiseConv2DOptions& options)
    : LayerHandle(make_layer<DepthwiseConvLayer<DepthwiseConv2DOptions>>(
          "DepthwiseConv2D", options)) {}

extern const LayerDef depthwise_conv2d_def;
const LayerDef depthwise_conv2d_def{
    .class_name = "DepthwiseConv2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<DepthwiseConvLayer<DepthwiseConv2DOptions>>(
          read_fields<DepthwiseConv2DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "depthwise_kernel"},
    .folded = {.parameter = "depthwise_kernel",
               .first_axis = 2,
               .last_axis = 4},
    .keras = {.layout = KerasLayout::image, .has_activation = true},
};

}  // namespace octet
