// calibrate_auto: which calibration method fits a model and its data best.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <octet/quant/calibrate.h>
#include <octet/quant/unusual_samples.h>

namespace octet::quant {

/// max, percentile 99.9, 99.99 and 99.999, mse, entropy.
std::vector<CalibrationOptions> calibration_methods();

/// Fields in order: methods, score, held_out, weights, batch_size, samples,
/// seed, check_samples, warn_of_loss
struct AutoCalibrationOptions {
  /// What to try. Of each, the options of observers alone are used.
  std::vector<CalibrationOptions> methods = calibration_methods();
  /// A custom measure of a model on samples, more being better, that chooses
  /// the method. Unless given, the SQNR of the outputs chooses, and top-1
  /// accuracy is reported where labels are classes of an output [n,classes]:
  /// of a few hundred samples it is too coarse to choose by.
  ///
  ///   [](const Model& m, const Dataset& d) {
  ///     return train::evaluate(m, d).accuracy;
  ///   }
  std::function<double(const Model&, const Dataset&)> score = {};
  double held_out = 0.25;  ///< share of the samples that judge, (0, 1)
  /// As CalibrationOptions::weights.
  std::optional<WeightRange> weights = {};
  int64_t batch_size = 256;
  int64_t samples = 0;  ///< as many, chosen by chance; 0: all
  uint64_t seed = 0;    ///< of that choice and of those that judge
  /// Ignore unusual samples (check_samples()), with a warning.
  bool check_samples = true;
  /// Log a warning where the best method leaves the outputs an SQNR below 15 dB
  /// or costs more than 5 points of accuracy. Not with a custom `score`.
  bool warn_of_loss = true;
};

/// A method and what came of it on the samples that judge.
struct CalibrationTrial {
  std::string method;  ///< "percentile 99.99", "best per tensor"
  std::optional<double> score;
  /// Of the model's outputs, quantized against float. As all SQNR here, 10
  /// log10(sum of squares / sum of squared errors) in dB; infinite without an
  /// error. Of several outputs, that of their mean noise-to-signal ratio.
  double output_sqnr;
  /// The median of the samples' own SQNR of the outputs, in dB; of several
  /// outputs the least.
  double median_sqnr;
  std::string worst;  ///< the quantizer with the lowest SQNR
  double worst_sqnr;
};

/// What a tensor was given.
struct TensorCalibration : CalibratedRange {
  std::string method;
  double sqnr;
};

struct AutoCalibration {
  int64_t samples = 0;          ///< that ranges come from
  int64_t held_out = 0;         ///< that judged
  bool same_samples = false;    ///< these were too few to be two parts
  std::string score_name = {};  ///< "accuracy" or "score"; empty without one
  std::optional<double> float_score = {};
  std::vector<CalibrationTrial> trials = {};    ///< in the order of `methods`
  std::string kept = {};                        ///< one of them
  std::vector<UnusualSample> ignored = {};      ///< samples, by position
  std::vector<TensorCalibration> tensors = {};  ///< in the model's order

  /// What to look at first, in a sentence; then the trials, that which was kept
  /// being marked, and the tensors, worst first.
  std::string to_string() const;
};

/// Runs `data`, but for samples held out by chance, through the model once,
/// with all methods observing, and keeps the scales of the method whose outputs
/// have the highest SQNR on the samples held out (with a custom score: the
/// highest score, then SQNR). The last trial takes for each tensor the method
/// with its best SQNR. Fewer than four samples are not split: all of them give
/// ranges and judge, with a warning.
/// Prints nothing: `print(calibrate_auto(...).to_string())`.
/// Throws: as calibrate(); ValueError for options out of range, no methods, a
/// share that leaves either side without samples, or a score that is NaN.
/// Scales and switches are then as before.
AutoCalibration calibrate_auto(Model& model, const Dataset& data,
                               const AutoCalibrationOptions& options = {});

}  // namespace octet::quant
