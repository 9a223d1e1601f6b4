// Creation of a handle's layer, with its name as context of errors.
#pragma once

#include <memory>
#include <string>

#include <octet/layers/layer.h>
#include <octet/runtime/error.h>

namespace octet {

template <class Concrete, class Options>
std::shared_ptr<Layer> make_layer(const char* class_name,
                                  const Options& options) {
  return with_context(
      [&] {
        const std::string layer = options.name.empty()
                                      ? "an unnamed layer"
                                      : "layer '" + options.name + "'";
        return "in " + layer + " (" + class_name + ')';
      },
      [&]() -> std::shared_ptr<Layer> {
        auto layer = std::make_shared<Concrete>(options);
        layer->set_name(options.name);
        return layer;
      });
}

}  // namespace octet
