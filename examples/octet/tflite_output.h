// Output files of TensorFlow Lite.
#pragma once

#include <string>

#include <octet/io/onnx.h>
#include <octet/io/tflite.h>

#include "../common/command_line.h"
#include "export_options.h"
#include "placement_options.h"

namespace octet::program {

/// Whether the output file is a .tflite file.
bool is_tflite(const std::string& output);

/// Checks the export options for the output file. For a .tflite file, sets the
/// default policy to tflite and drops `--target tflite`.
/// Throws: ValueError for options of the other format.
void choose_format(const std::string& output, ExportOptions& file,
                   PlacementOptions* placement = nullptr);

/// Returns the options of a .tflite file with the names, classes and
/// preprocessing of `names`. Throws: ValueError for an unknown --io.
io::TfliteOptions tflite_options(const ExportOptions& file,
                                 const io::OnnxExportOptions& names);

/// "model.tflite: 14 operators, 24,216 bytes of weights, 27,936 bytes".
std::string to_text(const std::string& output, const io::TfliteReport& report);
/// Adds the numbers to a JSON report.
void add_report(Config& config, const io::TfliteReport& report);

}  // namespace octet::program
