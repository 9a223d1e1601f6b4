// Calibration, which sets the ranges of activations from samples, and the
// switches of quantizers for quantization-aware training (QAT).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

// Calibration: runs data through a quantized model and sets the scales of its
// activations.

/// Calibrated range of an activation.
struct CalibratedRange {
  std::string quantizer;  ///< name of the quantizer
  float range;    ///< largest magnitude represented; 0 for an all-zero tensor
  float scale;    ///< range / QuantizerConfig::high()
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
/// infinity (naming the quantizer); UnsupportedError for a quantizer with a
/// zero point. Scales and switches are then restored.
std::vector<CalibratedRange> calibrate(
    Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options = {});

/// Calibrates with samples of `data`, in order. Ignores unusual samples
/// (check_samples()) with a warning. Warns if the samples lack classes of their
/// source, as the first samples of sorted data do.
/// Throws: as above; ValueError if an input has the same value everywhere.
std::vector<CalibratedRange> calibrate(Model& model, const Dataset& data,
                                       const CalibrationOptions& options = {});

// Damaged calibration samples: a single pixel of 10^6 sets the range of every
// tensor. Calibration and the post-training methods ignore such samples with a
// warning.

/// A sample to exclude from calibration.
struct UnusualSample {
  int64_t index = 0;  ///< position in the dataset
  /// Input name; "input 0" for unnamed inputs, empty for a single one.
  std::string input = {};
  std::string reason = {};  ///< "largest magnitude 1e+06, median 0.98"
};

/// Options of check_samples().
/// Fields in order: samples, seed
struct SampleCheckOptions {
  /// Size of the random subset (Dataset::sample()), >= 0; 0: all.
  int64_t samples = 0;
  uint64_t seed = 0;  ///< of the subset
};

/// Result of check_samples().
struct CheckedSamples {
  Dataset usual;  ///< the other samples of the subset, in dataset order
  std::vector<UnusualSample> unusual = {};  ///< ordered by index
  /// Describes two groups of samples in `usual` whose magnitudes lie apart, as
  /// of bytes and floats in one dataset; empty if there is one group.
  std::string mixed = {};
};

/// Compares samples and separates the unusual ones: NaN or infinity in an
/// input, or a largest magnitude far above that of all others. Compares the
/// logarithms of the nonzero magnitudes of each input. A sample is unusual if
/// it is more than ln(64) and more than b * ln(500 n) above the median, with b
/// the scale of an exponential tail, estimated from the median absolute
/// deviation and the 90th and 95th percentiles. Beyond the first bound, typical
/// samples have fewer than two of 127 INT8 levels. By the second, one dataset
/// in a thousand of n samples from a power law, however heavy-tailed, has a
/// false positive. Small magnitudes are never unusual. Separates at most 5 % of
/// the samples (at least one) for their magnitude; more belong to the
/// distribution. Fewer than four samples are not compared. Two groups of at
/// least 5 % of the samples each, a factor of 64 apart with no sample between
/// them, are reported and not separated.
/// Throws: ValueError with `subject` if more than 5 % of the samples (at least
/// one), or all, are not finite.
CheckedSamples check_samples(std::string_view subject, const Dataset& data,
                             const SampleCheckOptions& options = {});

/// Logs a warning that names the samples, and a warning of two groups. `names`
/// has the names of all samples of the dataset, such as files, or is empty.
void warn_of_unusual(std::string_view subject, const CheckedSamples& checked,
                     std::span<const std::string> names = {});

// auto_calibrate: selects the calibration method that fits a model and its
// data.

/// Returns max, percentile 99.9, 99.99 and 99.999, mse, entropy.
std::vector<CalibrationOptions> calibration_methods();

/// Options of auto_calibrate().
/// Fields in order: methods, score, held_out, weights, batch_size, samples,
/// seed, check_samples, warn_of_loss
struct AutoCalibrationOptions {
  /// Methods to try. Only their observer options are used. Entropy is skipped
  /// for models with floating-point quantizers.
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
  int64_t batch_size = 256;  ///< samples per forward pass, >= 1
  int64_t samples = 0;       ///< size of the random subset; 0: all
  uint64_t seed = 0;         ///< of the subset and of the held-out split
  /// Ignore unusual samples (check_samples()), with a warning.
  bool check_samples = true;
  /// Log a warning if the best method has an output SQNR below 15 dB or loses
  /// more than 5 points of accuracy. Ignored with a custom `score`.
  bool warn_of_loss = true;
};

/// A method and its result on the held-out samples.
struct CalibrationTrial {
  std::string method;  ///< "percentile 99.99", "best per tensor"
  /// Accuracy or custom score; empty without either.
  std::optional<double> score;
  /// SQNR of the quantized model's outputs against the float model's: 10
  /// log10(sum of squares / sum of squared errors) in dB; infinite without
  /// error. Several outputs: SQNR of their mean noise-to-signal ratio.
  double output_sqnr;
  /// Median of the per-sample output SQNR in dB; several outputs: the lowest.
  double median_sqnr;
  std::string worst;  ///< quantizer of the tensor with the lowest SQNR
  double worst_sqnr;  ///< SQNR of that tensor in dB
};

/// Calibration of a tensor, with its method and the resulting loss.
struct TensorCalibration : CalibratedRange {
  std::string method;  ///< "percentile 99.99"
  double sqnr;         ///< of the tensor on the held-out samples, in dB
};

/// Result of auto_calibrate().
struct AutoCalibration {
  int64_t samples = 0;          ///< samples for ranges
  int64_t held_out = 0;         ///< held-out samples
  bool same_samples = false;    ///< too few samples to split
  std::string score_name = {};  ///< "accuracy" or "score", or empty
  /// Score of the float model, as CalibrationTrial::score.
  std::optional<double> float_score = {};
  std::vector<CalibrationTrial> trials = {};  ///< in the order of `methods`
  std::string selected = {};                  ///< method of the selected trial
  std::vector<UnusualSample> ignored = {};    ///< samples, by position
  std::vector<TensorCalibration> tensors = {};  ///< in the model's order

  /// Returns a one-sentence summary; the trials, the selected trial marked; the
  /// tensors, worst first.
  std::string to_string() const;
};

/// Runs `data`, less a random held-out share, through the model once, with all
/// methods observing. Keeps the scales of the method with the highest output
/// SQNR on the held-out samples (with a custom score: the highest score, then
/// SQNR). With several methods, the last trial combines the method with the
/// best SQNR for each tensor. Fewer than four samples are not split: all serve
/// both purposes, with a warning. Prints nothing:
/// `std::cout << auto_calibrate(...).to_string()`.
/// Throws: as calibrate(); ValueError for options out of range, no methods, a
/// share that leaves either part empty, or a score that is NaN. Scales and
/// switches are then restored.
AutoCalibration auto_calibrate(Model& model, const Dataset& data,
                               const AutoCalibrationOptions& options = {});

/// Prepares a calibrated model for fine-tuning: enables every quantizer and
/// ends observation. Scales that follow training (ScaleRule::ema, last_value)
/// need no calibration.
/// Throws: ValueError naming the first uncalibrated quantizer, or for a model
/// without quantizers.
void prepare_qat(Model& model);

/// Checks that all enabled quantizers have a scale, or get it in training.
/// Throws: ValueError with `subject` naming the first enabled quantizer without
/// a scale that will not get one in training. Float models pass.
void expect_calibrated(std::string_view subject, const Model& model);
/// Returns whether expect_calibrated() would throw.
bool needs_calibration(const Model& model);

/// Pauses observation during its lifetime, e.g. for evaluation within training.
class ObservingPaused {
 public:
  /// Pauses the quantizers of `model`, which need not outlive the guard; the
  /// destructor resumes them.
  explicit ObservingPaused(const Model& model);
  ~ObservingPaused();
  ObservingPaused(const ObservingPaused&) = delete;
  ObservingPaused& operator=(const ObservingPaused&) = delete;

 private:
  std::vector<std::shared_ptr<const Quantizer>> quantizers_;
};

/// Enable or disable every quantizer. Scales remain, and export writes Q/DQ
/// either way.
void enable_fake_quant(Model& model);
void disable_fake_quant(Model& model);

/// Returns whether any quantizer has a learned scale.
bool learns_scales(const Model& model);

/// Freezes, or releases if `frozen` is false, scales that learn or follow
/// training.
void freeze_scales(Model& model, bool frozen = true);

/// Freezes, or releases if `frozen` is false, the moving statistics of batch
/// normalization. Training then normalizes with them and does not update them;
/// gamma and beta still learn.
void freeze_bn_stats(Model& model, bool frozen = true);

}  // namespace octet::quant
