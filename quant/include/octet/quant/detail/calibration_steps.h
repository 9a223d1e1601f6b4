// Steps of calibrate() with a Dataset, for distributed calibration as in
// train::calibrate().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Returns the calibration samples, in order, and logs the warnings.
/// Throws: as calibrate(); ValueError for a batch size below 1.
Dataset calibration_samples(const Model& model, const Dataset& data,
                            const CalibrationOptions& options);

/// Detects an input whose values are all equal.
struct InputValues {
  std::optional<float> first = {};  ///< empty before the first sample
  /// Whether two values differ. Also set by a tensor of a single value.
  bool varied = false;

  /// Adds a batch of the input, not empty, or all values of later batches.
  void add(const Tensor& values);
  void add(const InputValues& later);
};

/// Runs the model on samples, batch by batch, without gradients, and summarizes
/// its inputs.
/// Throws: ValueError for a batch size below 1.
std::vector<InputValues> run_samples(const Model& model, const Dataset& samples,
                                     int64_t batch_size);
/// Checks that each input varies over the samples.
/// Throws: ValueError naming an input that does not vary.
void expect_varied(const Model& model, std::span<const InputValues> inputs);

}  // namespace octet::quant
