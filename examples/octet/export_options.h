// How a model is written as ONNX, as the commands that write one are told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>

#include "../command_line.h"

namespace octet::program {

struct ExportOptions {
  std::optional<std::string> target;
  int64_t opset = 0;  // 0: not given
  std::optional<std::string> weights;
  bool fold = false;
  bool float16 = false;
  int64_t batch = -1;  // 0: dynamic; -1: as in the model's file
  std::optional<std::string> softmax;
  std::optional<std::string> from_bytes;
  /// Set by add_layout_option(), of commands with data by add_data_options().
  std::optional<std::string> layout;
};

void add_export_options(Command& command, ExportOptions& options);
/// --target alone.
void add_target_option(Command& command, ExportOptions& options,
                       const char* help = "who reads the file");

/// The model as it is written: with the end that --softmax says, and before it
/// what --from-bytes says; `takes` is the mode of what the model takes, "" if
/// nobody knows. Throws: ValueError for other words, another mode than that,
/// "trained" where nobody knows, or a model that ends in no logits or
/// probabilities.
Model as_written(Model model, const ExportOptions& options,
                 const std::string& takes);

/// What the target has, under these names, changed as the command line says.
/// Throws: ValueError for words that there are not, and as
/// OnnxOptions::check().
io::OnnxOptions onnx_options(const ExportOptions& options,
                             const io::OnnxOptions& names);

}  // namespace octet::program
