// Keras files.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/file.h>

namespace octet::io {

// Reads models and weights of Keras 1 to 3 and tf.keras without Python. Files
// are untrusted: libhdf5 runs in a child process, and its results are validated
// before allocation.

/// Creates a layer from its Keras `config`, which includes its name.
using KerasLayerFactory =
    std::function<std::shared_ptr<Layer>(const Config& config)>;

/// How layers of a file are matched with a model's layers.
enum class KerasMatch {
  by_name,   ///< layers of equal names
  by_order,  ///< among layers with weights, as in Keras
};

/// Options of load_keras() and load_keras_weights().
/// Fields in order: layers, architecture, input_shapes, match, partial,
/// backend, limits
struct KerasOptions {
  /// Custom classes, "Swish" or "pkg>Swish"; they have priority over Octet's.
  /// Classes registered with octet::register_layer need no entry. Weights are
  /// assigned by the names or the order of the layer's parameters; values have
  /// Keras' axis order.
  std::map<std::string, KerasLayerFactory, std::less<>> layers = {};
  /// JSON file of model.to_json(), for weights files without a model.
  std::filesystem::path architecture = {};
  /// Shape of a sample for each input, images [h,w,c] and sequences [l,c], for
  /// models with dynamic sizes.
  std::vector<Shape> input_shapes = {};
  /// When loading weights: how layers are matched. Files with quantization
  /// ranges require by_name.
  KerasMatch match = KerasMatch::by_name;
  /// When loading weights: skips layers that only the file or only the model
  /// has, such as a new head on a backbone.
  bool partial = false;
  /// Backend of a Keras 1 model, which the file does not record. "theano" flips
  /// convolution kernels.
  std::string backend = {};
  FileLimits limits = {};  ///< for untrusted files
};

/// Whether a file begins like HDF5 or a .keras archive, which load_keras()
/// reads. False for an unreadable file.
bool is_keras_file(const std::filesystem::path& path);

/// Loads a model with its weights: HDF5 (.h5) of Keras 1, 2 and 3, or a .keras
/// archive, recognized by contents. Nested models are inlined, with names like
/// "encoder/conv2d". A channels_first model becomes NHWC (sequences [n,l,c] if
/// a layer consumes them): inputs, kernels, axes and the rows of a Dense layer
/// after Flatten are rearranged. A model quantized by NVIDIA's
/// tensorflow-quantization gets Q/DQ with fixed scales wherever the file has
/// ranges, also of weights: s = max(min / -127, max / 127). Inputs below -127.5
/// s become q = -128, as on the device; the toolkit has -127.
/// Throws: IoError; FormatError naming file, layer and reason for a damaged,
/// malicious or inconsistent file; UnsupportedError naming all layers of
/// unknown classes, or the layer with an unsupported option.
Model load_keras(const std::filesystem::path& path,
                 const KerasOptions& options = {});

/// Loads weights into a model from any of these files, from an HDF5 file of
/// weights alone, or from a .weights.h5 of Keras 3. All names, counts, shapes
/// and values are checked before any is assigned. Layers of a float model match
/// "quant_<name>", and vice versa. Ranges of the toolkit set the scales of
/// quantizers, except of quantizers with scales from the weights.
/// Throws: as load_keras(); FormatError naming the layers or quantizers that
/// file or model lacks.
void load_keras_weights(Model& model, const std::filesystem::path& path,
                        const KerasOptions& options = {});

// Training configuration that a model file records.

/// Optimizer and learning rate of a training.
struct TrainingConfig {
  /// Class of the optimizer in lower case: "adam", "sgd", "rmsprop".
  std::string optimizer = {};
  double rate = 0;  ///< learning rate, finite and > 0
  /// Whether `rate` is the maximum of the training. Otherwise it is the last
  /// rate, which a callback may have reduced.
  bool is_peak = false;
  bool operator==(const TrainingConfig&) const = default;
};

/// Reads the configuration from a Keras file (`training_config` of .h5,
/// `compile_config` of .keras; the maximum rate of a schedule) or a
/// save_model() file. Nothing for other files, models saved without an
/// optimizer, and invalid entries, which load_keras() also ignores.
/// Throws: IoError; FormatError for a damaged file.
std::optional<TrainingConfig> training_config(const std::filesystem::path& path,
                                              const FileLimits& limits = {});

/// Returns Keras' default learning rate of an optimizer; 0 for an unknown
/// class.
double keras_default_rate(std::string_view optimizer);

}  // namespace octet::io
