#include <octet/layers/convolution.h>

#include "convolution/conv_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, Conv1DOptions& o) {
  conv_fields(v, o);
}

Conv1D::Conv1D(const Conv1DOptions& options)
    : LayerHandle(make_layer<ConvLayer<Conv1DOptions>>("Conv1D", options)) {}

extern const LayerDef conv1d_def;
const LayerDef conv1d_def{
    .class_name = "Conv1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<ConvLayer<Conv1DOptions>>(
          read_fields<Conv1DOptions>(config));
    },
    .role = LayerRole::linear,
    .qdq = {.enabled = true, .weight = "kernel"},
    .folded = {.parameter = "kernel", .first_axis = 2, .last_axis = 3},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"AtrousConvolution1D", "Convolution1D"},
              .renamed = {{{"filter_length", "kernel_size"},
                           {"subsample_length", "strides"}}},
              .has_activation = true},
};

}  // namespace octet
