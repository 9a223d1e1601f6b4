// Conversion of a Keras layer to a sequence of Octet layers, usually one.
// Internal to io/keras.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/io/keras.h>
#include <octet/layers/detail/axis_layout.h>
#include <octet/runtime/config.h>

#include "keras/graph.h"

namespace octet::io {

/// A layer of the sequence.
struct LayerSpec {
  std::string suffix;      ///< appended to the name of the Keras layer
  std::string class_name;  ///< registered or user-defined
  Config config;
  const KerasLayerFactory* factory = nullptr;  ///< user's, or null
  std::string own_name = {};    ///< name of a layer passed as activation
  bool in_keras_order = false;  ///< requires Keras' axis order
  /// A layer for sequences as one for images of a single row: its kernels have
  /// one axis less in the file.
  bool over_images = false;
  /// Layouts of the parameters from the file to Octet, if they are special.
  std::vector<AxisLayout> weights = {};
};

/// Facts that conversions of all layers share.
struct KerasContext {
  const KerasDialect& dialect;
  const KerasOptions& options;
};

/// Returns the user's factory for a class, by any of its names, or null.
const KerasLayerFactory* find_factory(const KerasOptions& options,
                                      const KerasLayer& layer);

/// Whether a LayerBuilder supports the layer.
bool is_known(const KerasLayer& layer, const KerasOptions& options);

/// Whether the layer does nothing in inference: its sequence is empty.
bool is_noop(const KerasLayer& layer);

/// Returns the sequence for a layer.
/// Throws: FormatError, UnsupportedError for unsupported options.
std::vector<LayerSpec> layer_sequence(const KerasLayer& layer,
                                      const KerasContext& context);

/// Returns the sequence for a layer that depends on the shape of its input in
/// Keras, such as EinsumDense; none for other layers.
/// Throws: FormatError, UnsupportedError for unsupported options.
std::vector<LayerSpec> composite_sequence(const KerasLayer& layer,
                                          const KerasContext& context,
                                          const Shape& input);
bool is_composite(std::string_view class_name);

/// Returns the sequence that applies a layer to each step of [n,t,...]; none if
/// it must be called for each step. `origin` is the TimeDistributed.
std::vector<LayerSpec> sequence_over_steps(const KerasLayer& layer,
                                           const KerasContext& context,
                                           const Shape& input);

/// Conversion of the option `activation`: a name for the layer's own option, or
/// separate layers after it.
struct ActivationConversion {
  std::string name = "linear";
  std::vector<LayerSpec> steps = {};
};
ActivationConversion activation_of(const Config& value,
                                   const KerasContext& context);

/// Returns the configuration in Keras 3 format of a layer whose class Octet
/// has, without options that Octet does not support. Does not convert
/// activations.
Config modern_config(const KerasLayer& layer);

/// Returns an option, null if it is absent.
const Config& option(const Config& config, std::string_view key);
/// Returns the integers of an integer or a list; none for null.
std::vector<int64_t> integers_of(const Config& value);
std::vector<int64_t> integers_of(const Config& config, std::string_view key);

/// Data formats (channels first or last) of the layers of a model and its
/// nested models. Files do not store Keras' default, image_data_format().
struct DataFormats {
  bool first = false;
  bool last = false;
};

/// Whether the layer's images have channels first.
/// Throws: FormatError for an unknown data_format.
bool has_channels_first(const KerasLayer& layer);
bool has_channels_first(const Config& config);

}  // namespace octet::io
