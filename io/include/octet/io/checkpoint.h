// Octet's own files: a model, float or quantized, with its weights, and in a
// checkpoint all that its training needs to go on. HDF5 that Keras and h5py
// read; a checksum of the whole tells damaged files. The format is described
// in io/README.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/onnx_interface.h>
#include <octet/io/training_config.h>
#include <octet/layers/model.h>
#include <octet/train/checkpointer.h>

namespace octet::io {

/// Fields in order: classes, preprocess, resize, interface, training
struct SaveOptions {
  /// Names of the classes in the order of the outputs, as ImageFolder has them.
  std::vector<std::string> classes = {};
  /// What bytes became before they were the model's inputs: a name that
  /// preprocess_mode() knows, or "" where it is not known.
  std::string preprocess = {};
  /// How images of other sizes were resized: text that resize_mode() parses, or
  /// "" where it is not known.
  std::string resize = {};
  /// Interface of the ONNX file that the model was imported from, so that it
  /// can be exported with the same names, types and axis order.
  OnnxInterface interface = {};
  /// How the model was trained, for fine-tuning; see training_config().
  std::optional<TrainingConfig> training = {};
};

/// Writes a model with its plan and the state of its quantizers, beside `path`
/// and then renamed over it.
/// Throws: IoError; ValueError for names that a file cannot hold (empty, ".",
/// no UTF-8) or that two layers or quantizers have, for class names that are
/// not as many as outputs, an unknown `preprocess` or `resize`, or an
/// `interface` that does not fit the model.
void save_model(const Model& model, const std::filesystem::path& path,
                const SaveOptions& options = {});

/// The names of the classes that save_model() or export_onnx() put into a file;
/// none of other files, and of those without any.
/// Throws: IoError; FormatError for one that is damaged.
std::vector<std::string> class_names(const std::filesystem::path& path,
                                     const FileLimits& limits = {});

/// The `preprocess` that save_model() or export_onnx() put into a file; "" of
/// other files, of those without one, and of ONNX files with another word there
/// than those of preprocess_mode().
/// Throws: IoError; FormatError for one that is damaged.
std::string trained_preprocess(const std::filesystem::path& path,
                               const FileLimits& limits = {});

/// The same for `resize`.
std::string trained_resize(const std::filesystem::path& path,
                           const FileLimits& limits = {});

/// Whether the file ends as save_model() and checkpoints do, damaged or not.
bool is_octet_file(const std::filesystem::path& path);

/// The model in a file of save_model(), or a checkpoint. Layers are made by
/// create_layer(), wrappers as apply() makes them. The file is not trusted:
/// libhdf5 runs in a child process.
/// Throws: IoError; FormatError for a file that is damaged, malicious or not
/// Octet's; UnsupportedError for one of a newer version, or naming all layers
/// whose class is not known; ValueError for limits out of range.
Model load_model(const std::filesystem::path& path,
                 const FileLimits& limits = {});

/// Puts the weights of such a file into an equal model or its float or
/// quantized counterpart: all, or nothing. Scales stay as they are.
/// Throws: as load_model(); ValueError naming the weights that one side lacks,
/// ShapeError.
void load_weights(Model& model, const std::filesystem::path& path,
                  const FileLimits& limits = {});

/// A state in a file, and back. Throws: as save_model() and load_model().
void save_checkpoint(const train::TrainingState& state,
                     const std::filesystem::path& path);
train::TrainingState load_checkpoint(const std::filesystem::path& path,
                                     const FileLimits& limits = {});

/// Fields in order: every_steps, keep, limits
struct CheckpointFolderOptions {
  /// Steps of the optimizer from one state to the next, besides those at the
  /// ends of epochs; 0: only these.
  int64_t every_steps = 0;
  int64_t keep = 3;        ///< newest files that stay, >= 1
  FileLimits limits = {};  ///< when a fit resumes
};

/// States of one fit in a folder, as `checkpoint-<steps>.h5`:
///
///   train::fit(model, data, {
///       .checkpoints = io::checkpoint_folder("runs/a", {.every_steps = 200}),
///       .resume = true});
///
/// The folder is made when the fit begins and is its alone until it ends; other
/// files in it are skipped. A file whose checksum is wrong is warned of and
/// renamed to `<name>.damaged`, and the one before it is used. One that is
/// whole and cannot be read stays, and is an error when the fit resumes.
/// Throws: ValueError for options out of range.
std::shared_ptr<train::Checkpointer> checkpoint_folder(
    std::filesystem::path folder, const CheckpointFolderOptions& options = {});

/// The newest file of a checkpoint_folder() that is whole.
/// Throws: IoError; NotFoundError if there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& folder);

}  // namespace octet::io
