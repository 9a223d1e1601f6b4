#include <octet/layers/pooling.h>

#include "pooling/pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, MaxPooling2DOptions& o) {
  pool_fields(v, o);
}

MaxPooling2D::MaxPooling2D(const MaxPooling2DOptions& options)
    : LayerHandle(make_layer<PoolLayer<MaxPooling2DOptions, Pooling::max>>(
          "MaxPooling2D", options)) {}

extern const LayerDef max_pooling2d_def;
const LayerDef max_pooling2d_def{
    .class_name = "MaxPooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<PoolLayer<MaxPooling2DOptions, Pooling::max>>(
          read_fields<MaxPooling2DOptions>(config));
    },
    .role = LayerRole::movement,
    .qdq = {.on_request = true},
    .keras = {.layout = KerasLayout::image, .aliases = {"MaxPool2D"}},
};

}  // namespace octet
