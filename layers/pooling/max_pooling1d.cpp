#include <octet/layers/pooling.h>

#include "pooling/pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, MaxPooling1DOptions& o) {
  pool_fields(v, o);
}

MaxPooling1D::MaxPooling1D(const MaxPooling1DOptions& options)
    : LayerHandle(make_layer<PoolLayer<MaxPooling1DOptions, Pooling::max>>(
          "MaxPooling1D", options)) {}

extern const LayerDef max_pooling1d_def;
const LayerDef max_pooling1d_def{
    .class_name = "MaxPooling1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<PoolLayer<MaxPooling1DOptions, Pooling::max>>(
          read_fields<MaxPooling1DOptions>(config));
    },
    .role = LayerRole::movement,
    .qdq = {.on_request = true},
    .keras = {.layout = KerasLayout::image,
              .aliases = {"MaxPool1D"},
              .renamed = {{{"pool_length", "pool_size"},
                           {"stride", "strides"}}}},
};

}  // namespace octet
