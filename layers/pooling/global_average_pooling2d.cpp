#include <octet/layers/pooling.h>

#include "pooling/global_pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GlobalAveragePooling2DOptions& o) {
  global_pool_fields(v, o);
}

GlobalAveragePooling2D::GlobalAveragePooling2D(
    const GlobalAveragePooling2DOptions& options)
    : LayerHandle(make_layer<GlobalPoolLayer<GlobalAveragePooling2DOptions,
                                             Pooling::average, 2>>(
          "GlobalAveragePooling2D", options)) {}

extern const LayerDef global_average_pooling2d_def;
const LayerDef global_average_pooling2d_def{
    .class_name = "GlobalAveragePooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<
          GlobalPoolLayer<GlobalAveragePooling2DOptions, Pooling::average, 2>>(
          read_fields<GlobalAveragePooling2DOptions>(config));
    },
    .qdq = {.enabled = true},
    .keras = {.layout = KerasLayout::image, .aliases = {"GlobalAvgPool2D"}},
};

}  // namespace octet
