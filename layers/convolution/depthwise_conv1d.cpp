#include <octet/layers/convolution.h>

#include "convolution/depthwise_conv_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, DepthwiseConv1DOptions& o) {
  depthwise_conv_fields(v, o);
}

DepthwiseConv1D::DepthwiseConv1D(const DepthwiseConv1DOptions& options)
    : LayerHandle(make_layer<DepthwiseConvLayer<DepthwiseConv1DOptions>>(
          "DepthwiseConv1D", options)) {}

extern const LayerDef depthwise_conv1d_def;
const LayerDef depthwise_conv1d_def{
    .class_name = "DepthwiseConv1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<DepthwiseConvLayer<DepthwiseConv1DOptions>>(
          read_fields<DepthwiseConv1DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "depthwise_kernel"},
    .folded = {.parameter = "depthwise_kernel",
               .first_axis = 1,
               .last_axis = 3},
    .keras = {.layout = KerasLayout::image, .has_activation = true},
};

}  // namespace octet
