// Import of TensorFlow Lite files (.tflite) as models.
#pragma once

#include <filesystem>
#include <string>

#include <octet/layers/model.h>

namespace octet::io {

/// Options of load_tflite().
struct TfliteImportOptions {
  /// Imports the float model alone, for a new calibration: weights are the
  /// dequantized values of the file.
  bool drop_quantizers = false;
};

/// Loads a float or INT8 file as a model with batch normalization as in the
/// file, i.e. mostly folded. Quantizers are placed as by quant::Policy::tflite
/// and have the scales and zero points of the file, so that export_tflite()
/// writes the same quantized values again.
/// Throws: IoError; FormatError for files that are not valid; UnsupportedError
/// listing all operators without a layer, and for uint8 and int16 models.
Model load_tflite(const std::filesystem::path& path,
                  const TfliteImportOptions& options = {});

/// Loads the contents of a file, such as TfliteFile::bytes.
Model from_tflite(const std::string& bytes,
                  const TfliteImportOptions& options = {});

/// Whether a file contains a TensorFlow Lite model, valid or not. False for a
/// file that cannot be read.
bool is_tflite_file(const std::filesystem::path& path);

}  // namespace octet::io
