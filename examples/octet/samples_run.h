// Runs of `octet predict`: all inputs at once, or in batches of samples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/runtime/tensor.h>

#include "predictor.h"
#include "read_model.h"

namespace octet::program {

struct SamplesRun {
  const ModelSource& source;
  const Predictor& model;
  /// A tensor for each of Predictor::inputs, and the names for messages.
  std::vector<Tensor> inputs;
  std::vector<std::string> files;
  /// For each of Predictor::outputs: whether its results are needed, and
  /// whether they must have an entry per sample.
  std::vector<bool> needed, per_sample;
  int64_t batch = 0;  ///< 0: the model's
};

/// Returns the shape of a sample.
Shape sample(const Shape& shape);

/// Returns the number of samples of the inputs; 1 without a common first axis.
int64_t sample_count(const std::vector<Tensor>& inputs);

/// Returns the outputs, empty where not needed. Runs a model
/// without a batch axis, or whose results depend on the other samples of a
/// batch, on all samples at once.
/// Throws: ShapeError, ValueError for a batch size that does not fit;
/// UnsupportedError for outputs that are not per sample; FormatError beyond the
/// memory limit; as Predictor::predict.
std::vector<Tensor> run_samples(const SamplesRun& run);

}  // namespace octet::program
