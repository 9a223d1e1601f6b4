// Models and weights that Keras 1 to 3 and tf.keras wrote, without Python.
// Files are not trusted: libhdf5 runs in a child process, and everything
// that it hands over is checked before memory is taken.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet::io {

/// Makes a layer from the `config` that Keras wrote for it, its name included.
using KerasLayerFactory =
    std::function<std::shared_ptr<Layer>(const Config& config)>;

/// How the layers of a file and of a model find each other.
enum class KerasMatch {
  by_name,
  by_order,  ///< of those that have weights, as Keras itself does
};

/// Fields in order: layers, architecture, input_shapes, match, partial,
/// backend, limits
struct KerasOptions {
  /// Custom classes, "Swish" or "pkg>Swish"; they come before Octet's.
  /// Classes known by octet::register_layer need no entry. A layer gets its
  /// values in Keras' axes and its weights by the names or the order of its
  /// parameters.
  std::map<std::string, KerasLayerFactory, std::less<>> layers = {};
  /// The JSON text that model.to_json() wrote, for files without one.
  std::filesystem::path architecture = {};
  /// One sample for each input, images [h,w,c] and sequences [l,c], where a
  /// model leaves sizes open.
  std::vector<Shape> input_shapes = {};
  KerasMatch match = KerasMatch::by_name;
  /// Layers that only one side has are skipped, where weights are loaded
  /// onto a model: a backbone under a new head.
  bool partial = false;
  /// Who trained a file of Keras 1, which does not say. "theano" convolved
  /// with turned kernels.
  std::string backend = {};
  FileLimits limits = {};
};

/// Whether a file begins like one that load_keras() reads: HDF5 or an archive.
/// False for a file that cannot be read.
bool is_keras_file(const std::filesystem::path& path);

/// Reads a model with its weights: HDF5 (.h5) of Keras 1, 2 and 3, or a
/// .keras archive; the contents decide, not the name. Nested models become
/// part of the one graph, under names like "encoder/conv2d". A model in the
/// order channels_first becomes one of NHWC images, and of sequences [n,l,c]
/// where a layer reads them so: its inputs, its kernels, its axes and the rows
/// of a Dense layer after a Flatten are rearranged. A model that
/// NVIDIA's tensorflow-quantization quantized is one here, with Q/DQ where the
/// file has ranges and fixed scales of these, for weights too:
/// s = max(min / -127, max / 127). Inputs below -127.5 s get the code -128, as
/// on the device, where the toolkit has -127.
/// Throws: IoError; FormatError naming file, layer and reason for a file that
/// is damaged, malicious or does not fit together; UnsupportedError naming
/// all layers whose class is not known, or the one with an option that Octet
/// does not have.
Model load_keras(const std::filesystem::path& path,
                 const KerasOptions& options = {});

/// Loads weights onto a model: from any of these files, from HDF5 with weights
/// alone, or from a .weights.h5 of Keras 3. All names, counts, shapes and
/// values are checked before the first one is assigned. Layers of a float
/// model are found under "quant_<name>", and the other way round; ranges of the
/// toolkit set the scales of a quantized model's quantizers, but for those that
/// follow the weights.
/// Throws: as load_keras(); FormatError naming the layers or quantizers that
/// one side lacks.
void load_keras_weights(Model& model, const std::filesystem::path& path,
                        const KerasOptions& options = {});

}  // namespace octet::io
