#include <octet/layers/pooling.h>

#include "pooling/global_pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GlobalAveragePooling1DOptions& o) {
  global_pool_fields(v, o);
}

GlobalAveragePooling1D::GlobalAveragePooling1D(
    const GlobalAveragePooling1DOptions& options)
    : LayerHandle(make_layer<GlobalPoolLayer<GlobalAveragePooling1DOptions,
                                             Pooling::average, 1>>(
          "GlobalAveragePooling1D", options)) {}

extern const LayerDef global_average_pooling1d_def;
const LayerDef global_average_pooling1d_def{
    .class_name = "GlobalAveragePooling1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<
          GlobalPoolLayer<GlobalAveragePooling1DOptions, Pooling::average, 1>>(
          read_fields<GlobalAveragePooling1DOptions>(config));
    },
    .qdq = {.enabled = true},
    .keras = {.layout = KerasLayout::image, .aliases = {"GlobalAvgPool1D"}},
};

}  // namespace octet
