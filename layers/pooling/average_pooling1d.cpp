#include <octet/layers/pooling.h>

#include "pooling/pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, AveragePooling1DOptions& o) {
  pool_fields(v, o);
}

AveragePooling1D::AveragePooling1D(const AveragePooling1DOptions& options)
    : LayerHandle(
          make_layer<PoolLayer<AveragePooling1DOptions, Pooling::average>>(
              "AveragePooling1D", options)) {}

extern const LayerDef average_pooling1d_def;
const LayerDef average_pooling1d_def{
    .class_name = "AveragePooling1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<
          PoolLayer<AveragePooling1DOptions, Pooling::average>>(
          read_fields<AveragePooling1DOptions>(config));
    },
    .qdq = {.enabled = true},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"AvgPool1D"},
              .renamed = {{{"pool_length", "pool_size"},
                           {"stride", "strides"}}}},
};

}  // namespace octet
