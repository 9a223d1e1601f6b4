// A model as `octet inspect` prints it.
#pragma once

#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet::program {

/// A list of sizes; the batch is "N", as in what is said of ONNX files.
Config to_config(const Shape& shape);

/// The model's summary and, of a quantized one, where its quantizers stand and
/// their scales.
std::string to_text(const Model& model);

/// Names, classes, shapes and sizes of a model and its layers, and its
/// quantizers.
Config to_config(const Model& model);

}  // namespace octet::program
