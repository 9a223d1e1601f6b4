// Octet's model files and checkpoints: a float or quantized model with its
// weights; a checkpoint also has the state that training needs to resume. The
// files are HDF5, readable by Keras and h5py, with a checksum that detects
// damage, or session files (.octet). docs/model-files.md describes the formats.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/keras.h>
#include <octet/io/onnx.h>
#include <octet/layers/model.h>
#include <octet/runtime/file.h>
#include <octet/train/fit.h>

namespace octet::io {

/// Options of save_model().
/// Fields in order: classes, preprocess, resize, interface, training
struct SaveModelOptions {
  /// Class names in the order of the outputs, as in ImageFolder.
  std::vector<std::string> classes = {};
  /// Preprocessing of images in training: a name that preprocess_mode()
  /// accepts, or "" if unknown.
  std::string preprocess = {};
  /// Resizing of images in training: text that resize_mode() parses, or "" if
  /// unknown.
  std::string resize = {};
  /// Interface of the ONNX file that the model was imported from: export
  /// restores its names, types and axis order.
  OnnxInterface interface = {};
  /// How the model was trained, for fine-tuning; see training_config().
  std::optional<TrainingConfig> training = {};
};

/// Writes a model with its quantization plan and the state of its quantizers.
/// The extension .octet selects a session file, for inference: see
/// save_session(). The file is written beside `path`, then renamed.
/// Throws: IoError; ValueError for layer or quantizer names that are empty,
/// ".", not UTF-8 or duplicate, a wrong number of class names, an unknown
/// `preprocess` or `resize`, or an `interface` that does not fit the model; as
/// save_session().
void save_model(const Model& model, const std::filesystem::path& path,
                const SaveModelOptions& options = {});

/// Returns the class names in a file of save_model() or export_onnx(); empty if
/// there are none or for other files.
/// Throws: IoError; FormatError for a damaged file.
std::vector<std::string> class_names(const std::filesystem::path& path,
                                     const FileLimits& limits = {});

/// Returns the `preprocess` in a file of save_model() or export_onnx(); "" if
/// there is none, for other files, and for ONNX files whose entry is unknown to
/// preprocess_mode().
/// Throws: IoError; FormatError for a damaged file.
std::string trained_preprocess(const std::filesystem::path& path,
                               const FileLimits& limits = {});

/// Returns `resize` likewise.
std::string trained_resize(const std::filesystem::path& path,
                           const FileLimits& limits = {});

/// Whether a file is one of save_model() or a checkpoint, even if damaged.
bool is_octet_file(const std::filesystem::path& path);

/// Loads the model of a save_model() file or checkpoint. create_layer() makes
/// layers, wrappers are made as in quant::apply(). The file is untrusted:
/// libhdf5 runs in a child process. Of a session file, quantized weights are
/// the dequantized values.
/// Throws: IoError; FormatError for a file that is damaged, malicious or not
/// Octet's; UnsupportedError for a newer version, or naming all layers of
/// unknown classes; ValueError for limits out of range.
Model load_model(const std::filesystem::path& path,
                 const FileLimits& limits = {});

/// Loads the weights of a save_model() file into an equal model or its float or
/// quantized counterpart; all weights or none. Scales do not change.
/// Throws: as load_model(); ValueError naming weights that file or model lacks;
/// ShapeError.
void load_weights(Model& model, const std::filesystem::path& path,
                  const FileLimits& limits = {});

/// Writes and reads a training state. Throws: as save_model() and load_model().
void save_checkpoint(const train::TrainingState& state,
                     const std::filesystem::path& path);
train::TrainingState load_checkpoint(const std::filesystem::path& path,
                                     const FileLimits& limits = {});

/// Options of checkpoint_folder().
/// Fields in order: every_steps, keep, limits
struct CheckpointFolderOptions {
  /// Optimizer steps between checkpoints within an epoch, >= 0; one is also
  /// written at the start of training and at the end of each epoch. 0: only
  /// those.
  int64_t every_steps = 0;
  int64_t keep = 3;  ///< number of newest files that are not deleted, >= 1
  FileLimits limits = {};  ///< for reading when training resumes
};

/// Stores checkpoints of a training in a folder, as `checkpoint-<steps>.h5`:
///
///   train::fit(model, data, {
///       .checkpoints = io::checkpoint_folder("runs/a", {.every_steps = 200}),
///       .resume = true});
///
/// The folder is created and locked by fit() until training ends; other files
/// in it are ignored. A file with a wrong checksum is renamed to
/// `<name>.damaged` with a warning, and the previous one is used. An intact
/// file that cannot be read stays and is an error when training resumes.
/// Throws: ValueError for options out of range.
std::shared_ptr<train::Checkpointer> checkpoint_folder(
    std::filesystem::path folder, const CheckpointFolderOptions& options = {});

/// Returns the newest intact file of a checkpoint_folder().
/// Throws: IoError; NotFoundError if there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& folder);

}  // namespace octet::io
