// Execution of .tflite files by the reference, with real values.
#pragma once

#include <string>

#include "predictor.h"

namespace octet::program {

/// Loads a .tflite file. Inputs are float32; inputs of a quantized type are
/// quantized before, and outputs dequantized after the run.
/// Throws: as io::load_tflite_reference().
Predictor load_tflite_predictor(const std::string& path);

}  // namespace octet::program
