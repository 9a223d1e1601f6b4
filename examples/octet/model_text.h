// Output of `octet inspect` for models.
#pragma once

#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet::program {

/// Returns the sizes; the batch is "N", as in summaries of ONNX files.
Config to_config(const Shape& shape);

/// Returns the model summary and, for a quantized model, the positions and
/// scales of its quantizers.
std::string to_text(const Model& model);

/// Returns names, classes, shapes and sizes of a model and its layers, and its
/// quantizers.
Config to_config(const Model& model);

}  // namespace octet::program
