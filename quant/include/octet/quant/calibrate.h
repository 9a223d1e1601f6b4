// Calibration: runs data through a quantized model and sets the scales of its
// activations.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/observer.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

struct CalibratedRange {
  std::string quantizer;
  float range;  ///< largest magnitude represented; 0 for an all-zero tensor
  float scale;
  bool all_zero;  ///< all magnitudes are below 2^-100; the scale is 1
};

/// Runs `forward` with all fixed-scale quantizers observing and none
/// quantizing, without gradients and on the calling thread, then sets the
/// scales. Scales of weights that are not live come from the weights by
/// `options.weights`; without it, existing scales, such as those of
/// fold_batch_norm(), remain. Logs a warning for all-zero ranges and for batch
/// normalization with untrained statistics.
/// Throws: ValueError if the model has no quantizers, a quantizer received no
/// data or a range that is not finite or negative, or an activation has NaN or
/// infinity (naming the quantizer). Scales and switches are then restored.
std::vector<CalibratedRange> calibrate(
    Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options = {});

/// Calibrates with samples of `data`, in order. Ignores unusual samples
/// (check_samples()) with a warning. Warns if the samples lack classes of their
/// source, as the first samples of sorted data do.
/// Throws: as above; ValueError if an input has the same value everywhere.
std::vector<CalibratedRange> calibrate(Model& model, const Dataset& data,
                                       const CalibrationOptions& options = {});

// Steps of calibrate() with a Dataset, for distributed calibration as in
// train::calibrate().

/// Returns the calibration samples, in order, and logs the warnings.
/// Throws: as calibrate(); ValueError for a batch size below 1.
Dataset calibration_samples(const Model& model, const Dataset& data,
                            const CalibrationOptions& options);

/// Detects an input whose values are all equal.
struct InputValues {
  std::optional<float> first = {};  ///< empty before the first sample
  bool varied = false;

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
