#include <octet/layers/pooling.h>

#include "pooling/global_pool_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, GlobalMaxPooling1DOptions& o) {
  global_pool_fields(v, o);
}

GlobalMaxPooling1D::GlobalMaxPooling1D(const GlobalMaxPooling1DOptions& options)
    : LayerHandle(make_layer<
                  GlobalPoolLayer<GlobalMaxPooling1DOptions, Pooling::max, 1>>(
          "GlobalMaxPooling1D", options)) {}

extern const LayerDef global_max_pooling1d_def;
const LayerDef global_max_pooling1d_def{
    .class_name = "GlobalMaxPooling1D",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<
          GlobalPoolLayer<GlobalMaxPooling1DOptions, Pooling::max, 1>>(
          read_fields<GlobalMaxPooling1DOptions>(config));
    },
    .role = LayerRole::movement,
    .keras = {.layout = KerasLayout::image, .aliases = {"GlobalMaxPool1D"}},
};

}  // namespace octet
