// Names and axis orders of model inputs and outputs, for export.
#pragma once

#include <octet/io/onnx.h>
#include <octet/layers/model.h>

#include "read_model.h"

namespace octet::program {

/// Returns the interface of the ONNX file that a model was imported from,
/// directly or through an Octet file; empty for other models.
/// REQUIRES: read_model(source), which records the interface of an ONNX file.
io::OnnxInterface interface_of(const ModelSource& source);

/// Returns export options from the model file: its interface, or for Keras
/// files the names of inputs and outputs; class names; preprocessing. `model`
/// may be derived from the model in the file.
/// REQUIRES: as interface_of().
io::OnnxExportOptions names_of(const ModelSource& source, const Model& model);

}  // namespace octet::program
