// The models that the commands take: by the name of a network or of a file.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include <octet/layers/model.h>

namespace octet::program {

/// What a command line says of a model.
struct ModelSource {
  std::string what;          ///< "zoo:NAME" or a file
  std::string architecture;  ///< a JSON file, for weights without one
};

/// Adds the positional argument `model` and its options to a command.
void add_model(CLI::App& command, ModelSource& source, const char* help);

/// How the commands call it in their help.
inline constexpr const char* kModelHelp =
    "zoo:NAME, or a file of Keras or Octet (.h5, .keras)";

/// Whether `what` names a network of the zoo or a file of Keras or Octet, by
/// its contents or, where these say nothing, by its name.
bool is_model(const std::string& what);

/// Reads `zoo:NAME` (with its first, untrained weights) or a file of Keras or
/// Octet.
/// Throws: NotFoundError for an unknown network; IoError; FormatError;
/// UnsupportedError for what is no model, or one that cannot be run.
Model read_model(const ModelSource& source);

}  // namespace octet::program
