// Files that come from files: names and order of axes of inputs and outputs.
#pragma once

#include <octet/io/onnx.h>
#include <octet/layers/model.h>

#include "read_model.h"

namespace octet::program {

/// Of a model that comes from an ONNX file: the names that it has there; of
/// another file's those of its layers, as in Keras. And the names of the
/// classes and the preprocessing, of a file of Octet, too.
io::OnnxOptions names_of(const ModelSource& source, const Model& model);

/// Warns where a model of an ONNX file, written again, takes the axes of its
/// inputs in another order than that file. Runs both on one sample where their
/// shapes do not tell. `model` is not quantized, or as the file is.
void warn_of_other_axes(const ModelSource& source, const Model& model,
                        const io::OnnxOptions& options);

}  // namespace octet::program
