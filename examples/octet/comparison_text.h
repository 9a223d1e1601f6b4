// What `octet compare` and `octet verify` have in common.
#pragma once

#include <string>
#include <vector>

#include <octet/io/compare.h>

#include "read_model.h"

namespace octet::program {

/// A model as read_model() takes it, or an ONNX file as the standard's
/// reference runs it. Throws: as these.
io::TracedModel read_traced(const ModelSource& source);

/// Throws: FormatError for samples of bytes, which the model of a file of Keras
/// or Octet takes only where it divides them itself.
void check_samples(const Tensor& x, const ModelSource& source);

/// One line a value.
std::string values_text(const std::vector<io::ValueDifference>& values);

/// Outputs, classes and what was not compared.
std::string totals_text(const io::Comparison& comparison);

}  // namespace octet::program
