// What a Keras layer is in Octet: a chain of layers with Octet's options,
// mostly of one. Internal to io/keras.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/io/keras.h>
#include <octet/runtime/config.h>

#include "keras/graph.h"

namespace octet::io {

/// One layer of the chain.
struct Step {
  std::string suffix;      ///< after the name of the Keras layer
  std::string class_name;  ///< in the registry, or of the user
  Config config;
  const KerasLayerFactory* factory = nullptr;  ///< the user's, if there is one
  std::string own_name = {};    ///< of a layer that another has as activation
  bool in_keras_order = false;  ///< whatever other order it could work in
};

/// The factory of the user for a class under any of its names, or null.
const KerasLayerFactory* find_factory(const KerasOptions& options,
                                      const KerasLayer& layer);

/// Whether steps_of() or one of the blocks can make the layer.
bool is_known(const KerasLayer& layer, const KerasOptions& options);

/// Whether the layer hands on what it gets: it has no steps.
bool is_nothing(const KerasLayer& layer);

/// Throws: FormatError, UnsupportedError for options that cannot be.
std::vector<Step> steps_of(const KerasLayer& layer, const KerasDialect& dialect,
                           const KerasOptions& options);

/// The value of a layer's option `activation`: a name that Octet's layers
/// take, or layers that come afterwards.
struct ActivationForm {
  std::string name = "linear";
  std::vector<Step> steps = {};
};
ActivationForm activation_of(const Config& value, const KerasDialect& dialect,
                             const KerasOptions& options);

/// The configuration of a layer of Octet's own classes in the words of
/// Keras 3, with what Octet cannot read left out. Activations stay.
Config modern_config(const KerasLayer& layer);

/// What layers of a model, and of those in it, say where their channels are.
/// Keras' own default, which is that of a program's settings, is not in a file.
struct DataFormats {
  bool first = false;
  bool last = false;
};

/// Whether the layer's images have their channels first.
/// Throws: FormatError for another data_format than the two.
bool has_channels_first(const KerasLayer& layer);
bool has_channels_first(const Config& config);

}  // namespace octet::io
