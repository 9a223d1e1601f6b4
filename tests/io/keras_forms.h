// Models of generated Keras files, and their properties.
#pragma once

#include <string>
#include <vector>

#include <octet/io/keras.h>
#include <octet/layers/model.h>

#include "../support.h"
#include "keras_files.h"
#include "support.h"

namespace octet::io {

/// Returns a model of layers without weights.
inline Model keras_model(const std::string& architecture,
                         const KerasOptions& options = {},
                         const std::string& version = "2.15.0") {
  const TempFolder folder;
  KerasFile(architecture, version).write(folder / "m.h5");
  return load_keras(folder / "m.h5", options);
}

inline std::vector<std::string> layer_classes(const Model& model) {
  std::vector<std::string> result;
  for (const auto& node : model.nodes()) {
    result.push_back(node->layer->class_name());
  }
  return result;
}

/// Returns the layer's outputs for inputs 0, 1, 2, ...
inline std::vector<float> values_of_layer(
    const std::string& layer, const std::string& shape = "[null,6]",
    const KerasOptions& options = {}, const std::string& version = "2.15.0") {
  const Model model = keras_model(
      keras_sequential({keras_input("i", shape), layer}), options, version);
  return values(model.predict(counting(model.inputs()[0].shape().with(0, 1))));
}

}  // namespace octet::io
