// Shared code of `octet compare` and `octet verify`.
#pragma once

#include <string>
#include <vector>

#include <octet/io/compare.h>

#include "read_model.h"

namespace octet::program {

/// Reads a model as read_model() does, but runs an ONNX file on the reference
/// executor.
/// Throws: as read_model() and io::TracedModel::from_onnx().
io::TracedModel read_traced(const ModelSource& source);

/// Throws: FormatError for uint8 samples of a Keras or Octet model, unless the
/// model scales its input.
void check_samples(const Tensor& x, const ModelSource& source);

/// Returns a table with one row per layer output.
std::string values_text(const std::vector<io::ValueDifference>& values);

/// Returns a summary: outputs, classes, and the number of layer outputs not
/// compared.
std::string totals_text(const io::ModelComparison& comparison);

}  // namespace octet::program
