// Equivalent of a Keras layer in Octet: a sequence of layers, usually one.
// Internal to io/keras.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/io/keras.h>
#include <octet/runtime/config.h>

#include "keras/graph.h"

namespace octet::io {

/// One layer of the sequence.
struct LayerSpec {
  std::string suffix;      ///< appended to the name of the Keras layer
  std::string class_name;  ///< registered or user-defined
  Config config;
  const KerasLayerFactory* factory = nullptr;  ///< of the user, or null
  std::string own_name = {};    ///< of a layer used as an activation
  bool in_keras_order = false;  ///< needs Keras' axis order
};

/// Returns the user's factory for a class, by any of its names, or null.
const KerasLayerFactory* find_factory(const KerasOptions& options,
                                      const KerasLayer& layer);

/// Whether steps_of() or a block builder supports the layer.
bool is_known(const KerasLayer& layer, const KerasOptions& options);

/// Whether the layer is the identity: it has no steps.
bool is_noop(const KerasLayer& layer);

/// Throws: FormatError, UnsupportedError for unsupported options.
std::vector<LayerSpec> steps_of(const KerasLayer& layer,
                                const KerasDialect& dialect,
                                const KerasOptions& options);

/// Value of the option `activation`: a name that Octet's layers accept, or
/// layers that follow.
struct ActivationForm {
  std::string name = "linear";
  std::vector<LayerSpec> steps = {};
};
ActivationForm activation_of(const Config& value, const KerasDialect& dialect,
                             const KerasOptions& options);

/// Returns the configuration of a layer of Octet's own classes in Keras 3
/// format, without options that Octet does not know. Activations are not
/// converted.
Config modern_config(const KerasLayer& layer);

/// Data formats of the layers of a model, including nested ones. Keras'
/// default, a setting of the program, is not stored in a file.
struct DataFormats {
  bool first = false;
  bool last = false;
};

/// Whether the layer's images have channels first.
/// Throws: FormatError for another data_format than the two.
bool has_channels_first(const KerasLayer& layer);
bool has_channels_first(const Config& config);

}  // namespace octet::io
