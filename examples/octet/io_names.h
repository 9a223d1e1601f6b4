// How a model's file calls and orders its inputs and outputs, for the file that
// is made of it.
#pragma once

#include <octet/io/onnx.h>
#include <octet/layers/model.h>

#include "read_model.h"

namespace octet::program {

/// The interface of the ONNX file that a model was read from, directly or with
/// a file of Octet in between; empty for other models.
/// REQUIRES: read_model(source), which finds the interface of an ONNX file.
io::OnnxInterface interface_of(const ModelSource& source);

/// Options of export that come from the model's file: its interface, or, for a
/// file of Keras, the names of its inputs and outputs; names of classes; the
/// preprocessing.
/// REQUIRES: as interface_of(). `model` may be another one made of it.
io::OnnxOptions names_of(const ModelSource& source, const Model& model);

}  // namespace octet::program
