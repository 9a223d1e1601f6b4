// Model arguments of commands: zoo networks and files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/keras.h>
#include <octet/io/onnx.h>
#include <octet/layers/inference_session.h>
#include <octet/layers/model.h>
#include <octet/runtime/file.h>

#include "../common/command_line.h"

namespace octet::program {

/// Help text of a model argument.
inline constexpr const char* kModelHelp =
    "zoo:NAME, or a Keras, Octet, ONNX or TensorFlow Lite file (.h5, .keras, "
    ".octet, .onnx, .tflite)";

/// Model argument and options of a command.
struct ModelSource {
  std::string what;          ///< "zoo:NAME" or a file
  std::string architecture;  ///< JSON file, for a weights-only file
  /// "224,224,3" or "NAME=224,224,3", for dynamic sizes.
  std::vector<std::string> input_shape;
  std::string expected = "";  ///< accepted models, for messages
  /// Treatment of the quantizers of an ONNX file.
  enum class Quantizers { keep, make_symmetric, drop };
  Quantizers quantizers = Quantizers::keep;
  double time_limit = FileLimits().time_limit;  ///< seconds
  int64_t memory_mib = FileLimits().memory_limit >> 20;
  /// Interfaces of the ONNX files read by read_model(), by path. Shared by
  /// copies.
  using Interfaces = std::map<std::string, io::OnnxInterface>;
  std::shared_ptr<Interfaces> interfaces = std::make_shared<Interfaces>();

  /// Limits of loading a file and of running an ONNX file.
  FileLimits limits() const {
    return {.memory_limit = memory_mib << 20, .time_limit = time_limit};
  }
};

/// Returns session options with the limits of `source`.
SessionOptions session_options(const ModelSource& source);

/// Adds the argument `model` with the text `help`, and the options of loading
/// it.
void add_model(Command& command, ModelSource& source, const char* help);

/// Returns the shapes of --input-shape in the order of the inputs; Shape() for
/// an input without a value.
/// Throws: ValueError for anything but lists of sizes, and names that the ONNX
/// file does not have.
std::vector<Shape> input_shapes(const ModelSource& source);

/// Returns whether `what` is a zoo network or a Keras or Octet file, by its
/// contents, else by its name.
bool is_model(const std::string& what);

/// Returns whether `what` is an ONNX file, valid or not, by its name or
/// contents.
bool is_onnx(const std::string& what);
/// Returns whether `what` is a TensorFlow Lite file, likewise.
bool is_tflite_file(const std::string& what);

/// Warns that a zoo network is untrained.
void warn_of_untrained(const ModelSource& source);
/// Warns that a session file has rounded weights, if `model` from it has
/// quantized layers; call before training.
void warn_of_rounded_weights(const ModelSource& source, const Model& model);

/// Throws: ValueError if --architecture is given; call for models that have an
/// architecture.
void check_no_architecture(const ModelSource& source);
/// Throws: ValueError if --input-shape is given; call for models with fixed
/// sizes.
void check_no_input_shape(const ModelSource& source);

/// Returns the training configuration in the model file, if any.
std::optional<io::TrainingConfig> training_of(const ModelSource& source);

/// Returns `zoo:NAME` with random weights, or loads a Keras, Octet or ONNX
/// file.
/// Throws: NotFoundError for an unknown network; IoError; FormatError;
/// UnsupportedError for files that are no models and models that cannot run.
Model read_model(const ModelSource& source);
/// Returns the source of another file with the same options.
ModelSource beside(const ModelSource& source, const std::string& file);

}  // namespace octet::program
