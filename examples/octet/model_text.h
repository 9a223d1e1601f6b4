// A model as `octet inspect --json` prints it.
#pragma once

#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet::program {

/// A list of sizes; the batch is "N", as in what is said of ONNX files.
Config to_config(const Shape& shape);

/// Names, classes, shapes and sizes of a model and its layers.
Config to_config(const Model& model);

}  // namespace octet::program
