#include <octet/layers/convolution.h>

#include "convolution/conv_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, Conv2DOptions& o) {
  conv_fields(v, o);
}

Conv2D::Conv2D(const Conv2DOptions& options)
    : LayerHandle(make_layer<ConvLayer<Conv2DOptions>>("Conv2D", options)) {}

extern const LayerDef conv2d_def;
const LayerDef conv2d_def{
    .class_name = "Conv2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ConvLayer<Conv2DOptions>>(
          read_fields<Conv2DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "kernel"},
    .folded = {.parameter = "kernel", .first_axis = 3, .last_axis = 4},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"AtrousConvolution2D", "Convolution2D"},
              .has_activation = true},
};

}  // namespace octet
