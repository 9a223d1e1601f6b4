// Quantizers, and observers of ranges.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>
#include <octet/runtime/variable.h>

namespace octet::quant {

// Observers: statistics of tensors during calibration.

/// Rule for the range of an activation. All but `ema` and `last_value` are
/// independent of the batch size, bit for bit.
/// Source: NVIDIA, "Integer Quantization for Deep Learning Inference", arXiv
/// 2004.09602, section 4.
enum class Calibration {
  max,  ///< largest magnitude: min-max of a symmetric range
  ema,  ///< moving average of the batches' largest magnitudes
  /// percentile of the magnitudes; the largest if the percentile is zero
  percentile,
  last_value,  ///< largest magnitude of the last batch
  mse,         ///< least mean square quantization error
  /// least Kullback-Leibler divergence between the distributions of values and
  /// quantized values.
  /// Source: S. Migacz, "8-bit inference with TensorRT", GTC 2017; for empty
  /// bins see docs/guides/calibration.md
  entropy,
};

/// Rule for the ranges of weights that are not live, per channel or per tensor.
enum class WeightRange {
  max,  ///< largest magnitude
  mse,  ///< fraction of the largest magnitude with the least square error
};

/// Range of values, low <= 0 <= high.
struct ValueRange {
  float low = 0;   ///< smallest value
  float high = 0;  ///< largest value

  /// Returns the largest magnitude.
  float magnitude() const { return low < -high ? -low : high; }
  bool operator==(const ValueRange&) const = default;
};

class RangeObserver;

/// Options of calibrate() and its observers.
/// Fields in order: method, percentile, ema_rate, weights, observer,
/// batch_size, samples, seed
struct CalibrationOptions {
  Calibration method = Calibration::percentile;  ///< rule for ranges
  float percentile = 99.99f;  ///< for Calibration::percentile, [50, 100]
  float ema_rate = 0.01f;  ///< for Calibration::ema: weight of a batch, (0, 1]
  /// For weights with fixed or learned scales. Default: `max`, only for weights
  /// without scales.
  std::optional<WeightRange> weights = {};
  /// Factory of a custom observer per quantizer, replacing `method`.
  std::function<std::unique_ptr<RangeObserver>()> observer = {};
  // For calibrate() with a Dataset; ignored by observers:
  int64_t batch_size = 256;  ///< samples per forward pass, >= 1
  int64_t samples = 0;       ///< size of the random subset; 0: all
  uint64_t seed = 0;         ///< of the subset
};

/// Collects the range of a tensor. Not thread-safe. Derive from it for
/// CalibrationOptions::observer.
class RangeObserver {
 public:
  virtual ~RangeObserver() = default;
  /// Adds the values of x to the observed range.
  /// Throws: ValueError if x has NaN or infinity.
  virtual void observe(const Tensor& x) = 0;
  /// Returns the largest magnitude to represent, finite and >= 0; empty before
  /// the first observation.
  virtual std::optional<float> range() const = 0;
  /// Returns the range of an asymmetric quantizer. Default: -range() to
  /// range().
  virtual std::optional<ValueRange> interval() const;

  /// Save and restore the statistics, between observers with the same options.
  /// Not called for custom observers, whose class files cannot name.
  /// Throws: UnsupportedError by default; ValueError and NotFoundError for an
  /// invalid state.
  virtual Config state() const;
  virtual void restore(const Config& state);
  /// Merges the state() of an observer with the same options that saw later
  /// data. The result equals an observer of all data.
  virtual void merge(const Config& later);
};

/// Returns an observer for quantized values up to `high`, a parameter of `mse`
/// and `entropy`.
/// Throws: ValueError for options out of range, and if options.observer returns
/// null.
std::unique_ptr<RangeObserver> make_observer(const CalibrationOptions& options,
                                             int high = 127);

struct QuantizerConfig;
/// Returns an observer for a quantizer. If it is asymmetric, each method
/// observes the two ends of the range separately: percentile clips
/// 100 - percentile percent of the values at each end.
/// Throws: as above.
std::unique_ptr<RangeObserver> make_observer(const CalibrationOptions& options,
                                             const QuantizerConfig& config);

/// "max", "percentile 99.99", "entropy", ..., "custom".
std::string to_string(const CalibrationOptions& options);

/// Serializes the observer options.
/// Throws: UnsupportedError for a custom observer.
Config to_config(const CalibrationOptions& options);
/// Parses the result of to_config().
/// Throws: ValueError, NotFoundError.
CalibrationOptions calibration_options_from_config(const Config& config);

// Quantizer: fake-quantizes a tensor.

/// Source of a quantizer's scale. Scales set by training serve inference and
/// export.
enum class ScaleRule {
  fixed,  ///< set by calibration, folding or the user
  live,   ///< weights: recomputed from the values in every forward pass
  /// activations: in training, moving average of each pass's largest magnitude;
  /// needs no calibration
  ema,
  last_value,  ///< activations: as `ema`, from the last pass alone
  /// learned step size quantization (LSQ): the optimizer moves the scale from
  /// its calibrated value. Gradients are multiplied by 1/sqrt(n*high), n being
  /// the number of values of a sample, or of the weight's channel or tensor.
  /// The floor is 1/100 of the calibrated scale.
  /// Source: Esser et al., arXiv 1902.08153.
  learned,
  /// trained quantization thresholds (TQT): learns the scale's binary
  /// logarithm. No gradient factor but scale_rate: for Adam, whose steps are
  /// then relative to the scale.
  /// Source: Jain et al., arXiv 1903.08066.
  learned_log2,
  /// activations: PACT, learns the range alpha = scale * high from clipped
  /// values and decay. dL/dalpha = sum of dy for x >= alpha, plus low/high
  /// times the sum for x <= low * scale (-8/7 for signed 4 bits: the lower end
  /// has an extra level), plus 2 * clip_decay * alpha, from
  /// Model::regularization_loss().
  /// Source: Choi et al., arXiv 1805.06085, section 3.
  learned_clip,
  /// asymmetric activations: LSQ+, learns the scale as `learned`, and the
  /// offset, the lowest value of the range. The zero point is
  /// round(-offset / scale), clamped to the quantized values.
  /// Source: Bhalgat et al., arXiv 2004.09576.
  learned_affine,
};

/// Configuration of a quantizer: its quantized values, and the source of its
/// scale. Ranges are checked by the Quantizer.
/// Fields in order: format, bits, narrow_range, per_channel, block, rule,
/// is_signed, zero_point, asymmetric, constant_scale, ema_rate, freeze_step,
/// scale_rate, clip_decay, straight_through
struct QuantizerConfig {
  /// Representable values. Floating-point formats are signed and ignore `bits`
  /// and `narrow_range`.
  NumberFormat format = NumberFormat::integer;
  int bits = 8;  ///< width of integers, [2, 8], or 16 for activations
  bool narrow_range = false;  ///< lowest q is -(2^(bits-1) - 1), for weights
  bool per_channel = false;   ///< a scale per channel, for weights
  /// Number of consecutive weights along the inputs that share a scale, [2,
  /// 4096]; the last block may be shorter. For kernels [in,out] with a live or
  /// fixed rule, in place of `per_channel`. 0: no blocks.
  int64_t block = 0;
  ScaleRule rule = ScaleRule::fixed;  ///< source of the scale
  /// False: q in [0, 2^bits - 1], for activations. Placement selects it for
  /// tensors that cannot be negative: always below 8 bits, at 8 bits if this is
  /// false. TensorRT rejects uint8; io::Target lists the runtimes that
  /// accept it.
  bool is_signed = true;
  /// Quantized value of zero for unsigned ranges, [0, 2^bits - 1]. Nonzero for
  /// asymmetric quantizers and in files of ONNX Runtime's quantizer. Requires
  /// fixed or learned scales unless `asymmetric`; calibration rejects it unless
  /// `asymmetric`.
  int zero_point = 0;
  /// Whether the range sets the zero point as well as the scale, so that all
  /// quantized values are used. Requires an unsigned range; [0,255] around z
  /// equals int8 around z - 128, the form of TensorFlow Lite.
  bool asymmetric = false;
  /// Scale that calibration and training never change, with ScaleRule::fixed:
  /// 1/256 for the probabilities of TensorFlow Lite. 0: none.
  float constant_scale = 0;
  float ema_rate = 0.01f;  ///< for ScaleRule::ema: weight of a pass, (0, 1]
  /// For ScaleRule::ema and last_value: number of observed tensors, usually one
  /// per pass, after which the scale freezes; 0: never.
  int64_t freeze_step = 0;
  /// For learned scales: learning rate relative to the optimizer's, (0, 1]. A
  /// gradient factor, so Adam and the like ignore it.
  float scale_rate = 0.1f;
  float clip_decay = 1e-4f;  ///< for ScaleRule::learned_clip, [0, 1)
  /// Whether values beyond the range get a gradient. Default: no.
  StraightThrough straight_through = StraightThrough::clipped;

  /// Largest and smallest quantized value minus the zero point; times the
  /// scale, the ends of the range.
  int high() const {
    if (format != NumberFormat::integer) return largest_value(format);
    return is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1 - zero_point;
  }
  int low() const {
    if (format != NumberFormat::integer) return -largest_value(format);
    return !is_signed ? -zero_point : narrow_range ? -high() : -high() - 1;
  }
  /// Quantization parameters without a scale.
  QuantParams qparams() const {
    return {.low = low(), .high = high(), .format = format, .block = block};
  }
  /// Whether the scale follows the values in training.
  bool follows() const {
    return rule == ScaleRule::ema || rule == ScaleRule::last_value;
  }
  /// Whether the optimizer moves the scale.
  bool learns() const {
    return rule == ScaleRule::learned || rule == ScaleRule::learned_log2 ||
           rule == ScaleRule::learned_clip || rule == ScaleRule::learned_affine;
  }
  bool operator==(const QuantizerConfig&) const = default;
};

/// "fixed", "live", "ema", "last_value", "learned", "learned_log2",
/// "learned_clip", "learned_affine".
std::string_view to_string(ScaleRule rule);
/// Returns the rule with this name (to_string()).
/// Throws: ValueError for an unknown name.
ScaleRule scale_rule_named(std::string_view name);

/// "int8 [-127,127]", "uint8 [0,255] around 113".
std::string range_text(const QuantizerConfig& config);
/// "int8 [-127,127] per channel live", "uint4 [0,15] per tensor learned".
std::string to_string(const QuantizerConfig& config);

/// Checks that a configuration suits activations.
/// Throws: UnsupportedError with `subject` for live and per-channel scales,
/// which file formats cannot express for activations.
void expect_for_activation(std::string_view subject,
                           const QuantizerConfig& config);
/// Checks that a configuration suits weights.
/// Throws: UnsupportedError with `subject` for rules of activations and
/// unsigned ranges.
void expect_for_weight(std::string_view subject, const QuantizerConfig& config);

/// Per-tensor int8 [-128,127] or a floating-point format, fixed by calibration.
QuantizerConfig activation_quantizer(
    NumberFormat format = NumberFormat::integer);
/// Per-channel int8 [-127,127] or a floating-point format, live absmax.
QuantizerConfig weight_quantizer(NumberFormat format = NumberFormat::integer);
/// int4 [-7,7] in blocks of `block` weights, live absmax: W4A16.
QuantizerConfig int4_weight_quantizer(int64_t block = 32);

/// Fake-quantizes a tensor. Consists of a range observer, a scale, two switches
/// (observe, quantize) and a scale rule. An uncalibrated quantizer has no
/// scale.
///
/// Wrappers that consume the same tensor may share a Quantizer. Under
/// NoGradGuard, with observation off, calls are thread-safe.
class Quantizer {
 public:
  /// Creates a quantizer without a scale.
  /// Throws: ValueError for bits other than 2 to 8 and 16, a block outside
  /// [2,4096], and other options out of range or in conflict.
  Quantizer(std::string name, const QuantizerConfig& config);

  /// Return the name, unique within a model, and the configuration, with the
  /// current zero point.
  const std::string& name() const { return name_; }
  const QuantizerConfig& config() const {
    move_zero_point();
    return config_;
  }

  /// Passes x to the observer, if any. A value with several consumers is
  /// observed once.
  /// Throws: ValueError for NaN or infinity, or for a negative value in an
  /// unsigned range.
  void observe(const Variable& x) const;

  /// Returns whether it quantizes: it is enabled and has a scale.
  /// Throws: ValueError if enabled without a scale and not observing.
  bool rounds() const;
  /// Observes and quantizes an activation, depending on the switches; in
  /// training the scale follows or learns by the rule.
  /// Throws: as rounds(); ValueError for NaN or infinity in a followed tensor.
  Variable operator()(const Variable& x, Mode mode = Mode::inference) const;
  /// As above for a weight, a leaf with its channels on `axis`.
  Variable weight(const Variable& w, int axis) const;

  /// Returns the quantization parameters of a tensor with channels on `axis`;
  /// live ones are computed from `x`.
  /// Throws: ValueError without a scale; ShapeError unless each channel of `x`
  /// has a scale.
  QuantParams qparams(const Tensor& x, int axis) const;
  /// Returns qparams() of a leaf's value. Live parameters are cached until the
  /// value changes, as inference requests them for every few images.
  /// Thread-safe.
  QuantParams weight_qparams(const Variable& weight, int axis) const;

  /// Returns whether it has a scale; true for the live rule.
  bool calibrated() const;
  /// Returns the per-tensor scale; empty for the live rule or without a scale.
  std::optional<float> scale() const;
  /// Returns the scales, one in all or one per channel; empty for the live rule
  /// or without a scale.
  std::vector<float> scales() const;
  /// Returns the number of learned scales at their floor, 1/100 of their
  /// initial values.
  int64_t scales_at_floor() const;
  /// Returns the leaf that training changes, by gradients or by following: the
  /// scale or its binary logarithm. Empty for other rules or without a scale.
  Variable scale_parameter() const;
  /// Returns the leaf of the learned offset of ScaleRule::learned_affine. Empty
  /// for other rules or without a scale.
  Variable offset_parameter() const { return offset_; }
  /// Sets the scale of the tensor.
  /// Throws: ValueError unless finite and positive; UnsupportedError for live
  /// and per-channel scales.
  void set_scale(float scale);
  /// Sets the scale for a range, and the zero point if asymmetric. Symmetric
  /// quantizers represent the magnitude of the range.
  /// Throws: ValueError unless the range is finite and contains 0;
  /// UnsupportedError as set_scale().
  void set_range(ValueRange range);
  /// Returns the parameters that set_range() would set.
  /// Throws: ValueError as set_range().
  QuantParams qparams_of(ValueRange range) const;
  /// Sets a scale per channel, or per block in the order of
  /// QuantParams::scale.
  /// Throws: ValueError if empty or unless all are finite and positive;
  /// UnsupportedError for live and per-tensor scales.
  void set_scales(std::span<const float> scales);

  /// A frozen scale does not change in training.
  void set_frozen(bool frozen);
  bool frozen() const { return frozen_; }

  /// Starts observation; no effect for constant scales and for live and
  /// per-channel scales, which only weights have. Throws: as make_observer().
  void start_observing(const CalibrationOptions& options);
  /// Returns the magnitude of the observed range, if known.
  /// Throws: ValueError unless it is finite and >= 0.
  std::optional<float> observed_range() const;
  /// Ends observation and sets the scale, and the zero point if asymmetric.
  /// Returns the magnitude of the range; empty if unknown (the scale is then
  /// unchanged).
  /// Throws: as observed_range().
  std::optional<float> finish_observing();
  /// Ends observation without changing the scale.
  void cancel_observing();
  /// Returns the observations, for an equal quantizer; null if there are none.
  /// Throws: UnsupportedError for a custom observer.
  Config observations() const;
  /// Replaces the observations by the merged observations of several
  /// quantizers, in order.
  /// REQUIRES: observation is in progress.
  /// Throws: ValueError, NotFoundError for invalid observations.
  void set_observations(std::span<const Config> parts);
  /// Whether observation is in progress, and whether it has seen a tensor.
  bool observing() const { return observer_ != nullptr && pauses_ == 0; }
  bool observed() const { return last_observed_.has_value(); }

  /// Pause and resume observation, keeping its statistics. Pauses nest.
  /// Thread-safe.
  void pause_observing() const { ++pauses_; }
  void resume_observing() const { --pauses_; }

  /// Switches quantization. A disabled quantizer keeps its scale and is still
  /// exported.
  void set_enabled(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  /// Returns an independent copy without observations.
  std::shared_ptr<Quantizer> clone() const;

  /// Returns the mutable state: scale, switches, observations.
  /// Throws: UnsupportedError while a custom observer is in use.
  Config state() const;
  /// Restores a state. All or nothing.
  /// Throws: ValueError, NotFoundError for an invalid state.
  void restore(const Config& state);

 private:
  void check_scales(std::span<const float> scales, bool per_channel) const;
  void expect_sign(const Tensor& x) const;
  void set(const Tensor& scale);
  void put_leaf(const Tensor& value, const Tensor& floor) const;
  void keep_above_floor() const;
  void put_offset(float offset) const;
  void move_zero_point() const;
  Tensor as_leaf(const Tensor& scale) const;
  Tensor as_scale(const Tensor& leaf) const;
  Tensor current_scale() const;
  LearnedScale learned_scale(int64_t values) const;
  bool follow(const Variable& x) const;
  ValueRange followed_range(const Variable& x) const;
  void put_range(ValueRange range) const;

  std::string name_;
  mutable QuantizerConfig config_;  // with the zero point of the range
  // A leaf [] or [c], the scale or its logarithm; empty without a scale.
  // Updated in place, as optimizers refer to it.
  mutable Variable scale_;
  mutable Tensor floor_;     // of a learned scale
  mutable Variable offset_;  // a leaf [], of ScaleRule::learned_affine
  mutable bool frozen_ = false;
  mutable int64_t steps_ = 0;                // number of followed tensors
  mutable std::optional<ValueRange> range_;  // followed, if asymmetric
  // Last tensor (id, version) of each shard of a batch, or of the whole batch.
  mutable std::vector<std::pair<uint64_t, uint64_t>> followed_;
  bool enabled_ = true;
  std::shared_ptr<RangeObserver> observer_;
  CalibrationOptions observer_options_;
  mutable std::atomic<int> pauses_{0};
  mutable std::optional<uint64_t> last_observed_;

  /// The live parameters of a weight.
  struct CachedQuantParams {
    uint64_t id;          ///< Variable::id() of the weight
    uint64_t version;     ///< Variable::version() of the weight
    int axis;             ///< channel axis
    QuantParams qparams;  ///< result of qparams()
  };
  mutable std::mutex mutex_;
  mutable std::optional<CachedQuantParams> live_;
};

}  // namespace octet::quant
