// Golden vectors and build commands beside an .onnx file.
#pragma once

#include <optional>
#include <string>

#include <octet/io/onnx.h>
#include <octet/runtime/dataset.h>

#include "../common/command_line.h"
#include "read_model.h"

namespace octet::program {

struct EngineOptions {
  bool golden = false;
  std::string batches = "1,8,32";
};

/// Adds --golden and --batches to a command that writes the ONNX file `output`.
void add_engine_options(Command& command, EngineOptions& options,
                        const std::string& output);

/// Throws: ValueError unless --batches has three ascending numbers.
void check_engine_options(const EngineOptions& options);

/// Writes OUT.golden/ and, for TensorRT targets and `any`, OUT.commands.sh if
/// --golden is given. Inputs are the first samples of `data`, or noise in [0,1)
/// without data, in [0,255] for uint8 inputs. Returns a report of the files.
std::string write_engine_files(const std::string& onnx, io::Target target,
                               const EngineOptions& options,
                               const Dataset* data, const FileLimits& limits);

}  // namespace octet::program
