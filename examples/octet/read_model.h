// The models that the commands take: by the name of a network or of a file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/io/onnx_interface.h>
#include <octet/io/training_config.h>
#include <octet/layers/inference_session.h>
#include <octet/layers/model.h>

#include "../command_line.h"

namespace octet::program {

/// How the commands call a model in their help.
inline constexpr const char* kModelHelp =
    "zoo:NAME, or a file of Keras, Octet or ONNX (.h5, .keras, .onnx)";

/// What a command line says of a model.
struct ModelSource {
  std::string what;           ///< "zoo:NAME" or a file
  std::string architecture;   ///< a JSON file, for weights without one
  std::string input_shape;    ///< "224,224,3", where a file leaves it open
  std::string expected = "";  ///< what the command takes, for messages
  double time_limit = io::FileLimits().time_limit;  ///< seconds
  int64_t memory_mib = io::FileLimits().memory_limit >> 20;
  /// Interfaces of the ONNX files that read_model() has read, by path. Copies
  /// share them.
  using Interfaces = std::map<std::string, io::OnnxInterface>;
  std::shared_ptr<Interfaces> interfaces = std::make_shared<Interfaces>();

  /// For reading a file, and for running one of ONNX.
  io::FileLimits limits() const {
    return {.memory_limit = memory_mib << 20, .time_limit = time_limit};
  }
};

/// A session within the limits of reading its file.
SessionOptions session_options(const ModelSource& source);

/// Adds the positional argument `model`, which `help` explains, and the options
/// of reading it to a command.
void add_model(Command& command, ModelSource& source, const char* help);

/// The one that --input-shape gives, if it is given.
/// Throws: ValueError for anything but a list of sizes.
std::vector<Shape> input_shapes(const ModelSource& source);

/// Whether `what` names a network of the zoo or a file of Keras or Octet, by
/// its contents or, where these say nothing, by its name.
bool is_model(const std::string& what);

/// Whether `what` is something else and an ONNX file, sound or not: by its name
/// or by its contents.
bool is_onnx(const std::string& what);

/// Warns that a network of the zoo computes nothing of use yet.
void warn_of_untrained(const ModelSource& source);

/// Throws: ValueError if an architecture is given for a model that has its own.
void check_no_architecture(const ModelSource& source);
/// Throws: ValueError if a shape is given for one that has all its sizes.
void check_no_input_shape(const ModelSource& source);

/// How the model was trained, if its file says so.
std::optional<io::TrainingConfig> training_of(const ModelSource& source);

/// Reads `zoo:NAME` (with its first, untrained weights) or a file of Keras,
/// Octet or ONNX.
/// Throws: NotFoundError for an unknown network; IoError; FormatError;
/// UnsupportedError for what is no model, or one that cannot be run.
Model read_model(const ModelSource& source);
/// Another file, read by the same options.
ModelSource beside(const ModelSource& source, const std::string& file);

}  // namespace octet::program
