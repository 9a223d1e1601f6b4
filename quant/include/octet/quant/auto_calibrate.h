// auto_calibrate: selects the calibration method that fits a model and its
// data.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <octet/quant/calibrate.h>
#include <octet/quant/unusual_samples.h>

namespace octet::quant {

/// Returns max, percentile 99.9, 99.99 and 99.999, mse, entropy.
std::vector<CalibrationOptions> calibration_methods();

/// Fields in order: methods, score, held_out, weights, batch_size, samples,
/// seed, check_samples, warn_of_loss
struct AutoCalibrationOptions {
  /// Methods to try. Only their observer options are used.
  std::vector<CalibrationOptions> methods = calibration_methods();
  /// Custom score of a model on samples, higher is better, that selects the
  /// method. Default: the SQNR of the outputs selects; top-1 accuracy is
  /// reported for class labels and an output [n,classes], as a few hundred
  /// samples are too few to select by it.
  ///
  ///   [](const Model& m, const Dataset& d) {
  ///     return train::evaluate(m, d).accuracy;
  ///   }
  std::function<double(const Model&, const Dataset&)> score = {};
  double held_out = 0.25;  ///< share of held-out samples, (0, 1)
  /// As in CalibrationOptions.
  std::optional<WeightRange> weights = {};
  int64_t batch_size = 256;
  int64_t samples = 0;  ///< size of the random subset; 0: all
  uint64_t seed = 0;    ///< of the subset and of the held-out split
  /// Ignore unusual samples (check_samples()), with a warning.
  bool check_samples = true;
  /// Log a warning if the best method has an output SQNR below 15 dB or loses
  /// more than 5 points of accuracy. Ignored with a custom `score`.
  bool warn_of_loss = true;
};

/// A method and its result on the held-out samples.
struct CalibrationTrial {
  std::string method;  ///< "percentile 99.99", "best per tensor"
  std::optional<double> score;
  /// SQNR of the quantized model's outputs against the float model's: 10
  /// log10(sum of squares / sum of squared errors) in dB; infinite without
  /// error. Several outputs: SQNR of their mean noise-to-signal ratio.
  double output_sqnr;
  /// Median of the per-sample output SQNR in dB; several outputs: the lowest.
  double median_sqnr;
  std::string worst;  ///< quantizer with the lowest SQNR
  double worst_sqnr;
};

/// Calibration of a tensor.
struct TensorCalibration : CalibratedRange {
  std::string method;
  double sqnr;
};

struct AutoCalibration {
  int64_t samples = 0;          ///< samples for ranges
  int64_t held_out = 0;         ///< held-out samples
  bool same_samples = false;    ///< too few samples to split
  std::string score_name = {};  ///< "accuracy" or "score", or empty
  std::optional<double> float_score = {};
  std::vector<CalibrationTrial> trials = {};    ///< in the order of `methods`
  std::string kept = {};                        ///< the selected trial
  std::vector<UnusualSample> ignored = {};      ///< samples, by position
  std::vector<TensorCalibration> tensors = {};  ///< in the model's order

  /// Returns a one-sentence summary; the trials, the selected trial marked; the
  /// tensors, worst first.
  std::string to_string() const;
};

/// Runs `data`, less a random held-out share, through the model once, with all
/// methods observing. Keeps the scales of the method with the highest output
/// SQNR on the held-out samples (with a custom score: the highest score, then
/// SQNR). The last trial combines the method with the best SQNR for each
/// tensor. Fewer than four samples are not split: all serve both purposes, with
/// a warning. Prints nothing: `print(auto_calibrate(...).to_string())`.
/// Throws: as calibrate(); ValueError for options out of range, no methods, a
/// share that leaves either part empty, or a score that is NaN. Scales and
/// switches are then restored.
AutoCalibration auto_calibrate(Model& model, const Dataset& data,
                               const AutoCalibrationOptions& options = {});

}  // namespace octet::quant
