// Options of ONNX export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <octet/io/onnx.h>
#include <octet/layers/model.h>

#include "../common/command_line.h"

namespace octet::program {

struct ExportOptions {
  std::optional<std::string> target;
  int64_t opset = 0;  // 0: not given
  std::optional<std::string> weights;
  bool fold = false;
  bool float16 = false;
  int64_t batch = -1;  // 0: dynamic; -1: as in the source file
  std::optional<std::string> softmax;
  std::optional<std::string> from_bytes;
  std::optional<std::string> io;  // of a .tflite file
  /// Set by add_layout_option(), or by add_data_options().
  std::optional<std::string> layout;
};

void add_export_options(Command& command, ExportOptions& options);
/// Adds --target only.
void add_target_option(Command& command, ExportOptions& options,
                       const char* help = "runtime that loads the file");

/// Returns the model with the end requested by --softmax and the preprocessing
/// of --from-bytes; `takes` is the mode_of() the model.
/// Throws: ValueError for unknown words, for a mode other than `takes`, for
/// "trained" if `takes` is "", or for a model that ends in neither logits nor
/// probabilities.
Model as_written(Model model, const ExportOptions& options,
                 const std::string& takes);

/// Returns the options of the target with these names, overridden by the
/// command line.
/// Throws: ValueError for unknown words, and as OnnxExportOptions::check().
io::OnnxExportOptions onnx_options(const ExportOptions& options,
                                   const io::OnnxExportOptions& names);

}  // namespace octet::program
