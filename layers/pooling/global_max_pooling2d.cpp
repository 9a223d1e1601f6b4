#include <octet/layers/pooling.h>

#include "pooling/global_pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GlobalMaxPooling2DOptions& o) {
  global_pool_fields(v, o);
}

GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalMaxPooling2DOptions& options)
    : LayerHandle(make_layer<
                  GlobalPoolLayer<GlobalMaxPooling2DOptions, Pooling::max, 2>>(
          "GlobalMaxPooling2D", options)) {}

extern const LayerDef global_max_pooling2d_def;
const LayerDef global_max_pooling2d_def{
    .class_name = "GlobalMaxPooling2D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<
          GlobalPoolLayer<GlobalMaxPooling2DOptions, Pooling::max, 2>>(
          read_fields<GlobalMaxPooling2DOptions>(config));
    },
    .role = LayerRole::movement,
    .keras = {.layout = KerasLayout::image, .aliases = {"GlobalMaxPool2D"}},
};

}  // namespace octet
