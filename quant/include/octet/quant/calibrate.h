// Calibration: run data through a quantized model and fix the scales of its
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
  float range;  ///< largest magnitude represented; 0 for zeros alone
  float scale;
  bool all_zero;  ///< no magnitude of 2^-100 or more was seen; the scale is 1
};

/// Runs `forward` with every fixed-scale quantizer observing and none
/// quantizing, without gradients and on this thread alone, then sets the
/// scales. Ranges of zeros alone are warned of. Those of weights that are not
/// live come from the weights, as `options.weights` says; without it, scales
/// that are there, as fold_batch_norm() gives them, stay. Batch normalization
/// whose statistics were never trained is warned of: its ranges are not those
/// of the trained network.
/// Throws: ValueError if the model has no quantizers, if one saw no data or its
/// observer gives no finite range >= 0, or for NaN or infinity in an activation
/// (naming the quantizer); scales and switches are then as before.
std::vector<CalibratedRange> calibrate(
    Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options = {});

/// The same over samples of `data`, in order, without unusual ones
/// (check_samples()), which a warning names. Warns where they lack classes that
/// the rest of their source has, as the first samples of sorted data do.
/// Throws: ValueError where every value of every sample is the same.
std::vector<CalibratedRange> calibrate(Model& model, const Dataset& data,
                                       const CalibrationOptions& options = {});

// What calibrate() with a Dataset consists of, for those who spread it over
// processes, as train::calibrate() does.

/// Its samples, in order, with the warnings. Throws: as calibrate(), and
/// ValueError for a batch size below 1.
Dataset calibration_samples(const Model& model, const Dataset& data,
                            const CalibrationOptions& options);

/// Whether the values of an input are all the same.
struct InputValues {
  std::optional<float> first = {};  ///< nothing: there was no sample
  bool varied = false;

  void add(const Tensor& values);
  void add(const InputValues& later);
};

/// Runs the model on samples, batch by batch, without gradients. Returns what
/// its inputs were. Throws: ValueError for a batch size below 1.
std::vector<InputValues> run_samples(const Model& model, const Dataset& samples,
                                     int64_t batch_size);
/// Throws: ValueError naming an input that did not vary.
void expect_varied(const Model& model, std::span<const InputValues> inputs);

}  // namespace octet::quant
