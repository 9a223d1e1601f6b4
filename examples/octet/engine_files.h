// What goes to the device beside an .onnx file: golden vectors and commands.
#pragma once

#include <optional>
#include <string>

#include <octet/io/onnx.h>
#include <octet/runtime/dataset.h>

#include "../command_line.h"
#include "read_model.h"

namespace octet::program {

struct EngineOptions {
  bool golden = false;
  std::string batches = "1,8,32";
};

/// For a command that writes the ONNX file `output`.
void add_engine_options(Command& command, EngineOptions& options,
                        const std::string& output);

/// Throws: ValueError for batches that are not three numbers in order.
void check_engine_options(const EngineOptions& options);

/// Where it is asked for, writes OUT.golden/, of the first samples of `data`,
/// or, without data, of noise in [0,1), in [0,255] for inputs of uint8, and,
/// for a target of TensorRT or any, OUT.commands.sh, and says which.
std::string write_engine_files(const std::string& onnx, io::OnnxTarget target,
                               const EngineOptions& options,
                               const Dataset* data,
                               const io::FileLimits& limits);

}  // namespace octet::program
