// Models, samples and text of `octet compare` and `octet verify`.
#pragma once

#include <string>
#include <vector>

#include <octet/io/compare.h>

#include "read_model.h"

namespace octet::program {

/// Loads a model to compare. An ONNX file runs on the reference executor, other
/// models run as layers.
/// Throws: as read_model() and io::TracedModel::from_onnx().
io::TracedModel read_traced(const ModelSource& source);

/// Checks the type of samples.
/// Throws: FormatError for uint8 samples of a Keras or Octet model that does
/// not scale its input.
void check_samples(const Tensor& x, const ModelSource& source);

/// Returns a table with a row per layer output.
std::string values_text(const std::vector<io::ValueDifference>& values);

/// Returns a summary: SQNR of the outputs, top-1 agreement, accuracies, and the
/// number of layer outputs not compared.
std::string totals_text(const io::ModelComparison& comparison);

}  // namespace octet::program
