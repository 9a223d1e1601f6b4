#include <octet/layers/convolution.h>

#include "convolution/separable_conv_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, SeparableConv1DOptions& o) {
  separable_conv_fields(v, o);
}

SeparableConv1D::SeparableConv1D(const SeparableConv1DOptions& options)
    : LayerHandle(make_layer<SeparableConvLayer<SeparableConv1DOptions>>(
          "SeparableConv1D", options)) {}

extern const LayerDef separable_conv1d_def;
const LayerDef separable_conv1d_def{
    .class_name = "SeparableConv1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<SeparableConvLayer<SeparableConv1DOptions>>(
          read_fields<SeparableConv1DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true,
            .weight = "depthwise_kernel",
            .second_weight = "pointwise_kernel",
            .intermediate = kSeparableIntermediate},
    .folded = {.parameter = "pointwise_kernel",
               .first_axis = 2,
               .last_axis = 3},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"SeparableConvolution1D"},
              .has_activation = true},
};

}  // namespace octet
