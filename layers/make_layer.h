// How a handle makes its layer: named, and with its name in every refusal.
#pragma once

#include <memory>
#include <string>

#include <octet/layers/layer.h>
#include <octet/layers/layer_def.h>
#include <octet/runtime/error.h>

namespace octet {

template <class Concrete, class Options>
std::shared_ptr<Layer> make_layer(const char* class_name,
                                  const Options& options) {
  return with_context(
      [&] {
        std::string frame = "in a layer ";
        if (!options.name.empty()) frame = "in layer '" + options.name + "' (";
        frame += class_name;
        if (!options.name.empty()) frame += ')';
        return frame;
      },
      [&]() -> std::shared_ptr<Layer> {
        auto layer = std::make_shared<Concrete>(options);
        layer->set_name(options.name);
        return layer;
      });
}

}  // namespace octet
