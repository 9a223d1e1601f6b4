#include <octet/layers/pooling.h>

#include "pooling/pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, AveragePooling2DOptions& o) {
  pool_fields(v, o);
}

AveragePooling2D::AveragePooling2D(const AveragePooling2DOptions& options)
    : LayerHandle(
          make_layer<PoolLayer<AveragePooling2DOptions, Pooling::average>>(
              "AveragePooling2D", options)) {}

extern const LayerDef average_pooling2d_def;
const LayerDef average_pooling2d_def{
    .class_name = "AveragePooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<
          PoolLayer<AveragePooling2DOptions, Pooling::average>>(
          read_fields<AveragePooling2DOptions>(config));
    },
    .qdq = {.enabled = true},
    .keras = {.layout = KerasLayout::image, .aliases = {"AvgPool2D"}},
};

}  // namespace octet
