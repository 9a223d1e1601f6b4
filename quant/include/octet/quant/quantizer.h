// Quantizer: turns a tensor into its fake-quantized self. It is a range
// observer, a scale, two switches (observe, quantize) and a rule that says
// where the scale comes from. Being uncalibrated is the absence of a scale.
//
// One Quantizer may be shared by several wrappers that read the same tensor.
// Under NoGradGuard, with observing off, calls are thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/observer.h>
#include <octet/runtime/config.h>
#include <octet/runtime/grid.h>
#include <octet/runtime/ops/quantization.h>
#include <octet/runtime/variable.h>

namespace octet::quant {

/// Where the scale of a quantizer comes from. What training sets is kept for
/// inference and export.
enum class ScaleRule {
  fixed,  ///< set by calibration, by hand or by folding, then kept
  live,   ///< of weights: recomputed from the values in every forward pass
  /// of activations: follows a moving average of the largest magnitude in each
  /// pass in training; calibration is not needed
  ema,
  last_value,  ///< of activations: follows the last pass in training, likewise
  /// moved by the optimizer, from where calibration puts it: learned step size
  /// quantization (LSQ), with a linear scale and gradients times
  /// 1/sqrt(n*high), n being the values of the tensor's sample, or of the
  /// weight's channel or tensor. It does not fall below a hundredth of what
  /// calibration gave.
  /// Source: Esser et al., arXiv 1902.08153.
  learned,
  /// likewise, as a logarithm (trained quantization thresholds, TQT) whose
  /// gradient has no factor but scale_rate: for Adam, whose steps are then a
  /// share of the scale. Source: Jain et al., arXiv 1903.08066.
  learned_log2,
  /// of activations: likewise, moved by what is clipped alone, and drawn
  /// towards zero (PACT). The range alpha = scale * high is what the optimizer
  /// sees: dL/dalpha = sum of dy where x >= alpha, plus low/high times that
  /// where x <= low * scale (-8/7 with 4 bits and a sign: the lower end is one
  /// code further out), plus 2 * clip_decay * alpha, which is part of
  /// Model::regularization_loss().
  /// Source: Choi et al., arXiv 1805.06085, section 3.
  learned_clip,
};

struct QuantizerConfig {
  int bits = 8;               ///< [2, 8]
  bool narrow_range = false;  ///< lowest code -(2^(bits-1) - 1), for weights
  bool per_channel = false;
  ScaleRule rule = ScaleRule::fixed;
  /// False: codes [0, 2^bits - 1], for activations. Placement chooses them
  /// where a tensor cannot be negative: below 8 bits always, with 8 bits where
  /// false is asked for. TensorRT takes no uint8: io::OnnxTarget says who does.
  bool is_signed = true;
  /// Of codes without a sign: the one that stands for zero, [0, 2^bits - 1].
  /// Files of ONNX Runtime's quantizer have others than 0, and placement
  /// chooses none. Scales beside them are fixed or learn; calibration, whose
  /// ranges are magnitudes, refuses them.
  int zero_point = 0;
  float ema_rate = 0.01f;  ///< of ScaleRule::ema: of a new pass, (0, 1]
  /// Of ScaleRule::ema and last_value: the scale is frozen after it followed so
  /// many tensors, one a pass for most; 0: never.
  int64_t freeze_step = 0;
  /// Of scales that learn: their learning rate as a share of the optimizer's,
  /// (0, 1]. It is a factor of the gradient, which Adam and its like do not
  /// see.
  float scale_rate = 0.1f;
  float clip_decay = 1e-4f;  ///< of ScaleRule::learned_clip, [0, 1)
  /// Whether values beyond the range get a gradient.
  StraightThrough straight_through = StraightThrough::clipped;

  /// The largest and the smallest code, less the zero point: what times the
  /// scale are the ends of the range.
  int high() const {
    return is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1 - zero_point;
  }
  int low() const {
    return !is_signed ? -zero_point : narrow_range ? -high() : -high() - 1;
  }
  /// Whether the scale is set from what passes in training see.
  bool follows() const {
    return rule == ScaleRule::ema || rule == ScaleRule::last_value;
  }
  /// Whether the scale is moved by the optimizer.
  bool learns() const {
    return rule == ScaleRule::learned || rule == ScaleRule::learned_log2 ||
           rule == ScaleRule::learned_clip;
  }
  bool operator==(const QuantizerConfig&) const = default;
};

/// "fixed", "live", "ema", "last_value", "learned", "learned_log2",
/// "learned_clip".
std::string_view to_string(ScaleRule rule);
/// Throws: ValueError for another name.
ScaleRule scale_rule_from(std::string_view name);

/// "int8 [-127,127]", "uint8 [0,255] around 113".
std::string codes_text(const QuantizerConfig& config);
/// "int8 [-127,127] per channel live", "uint4 [0,15] per tensor learned".
std::string to_string(const QuantizerConfig& config);

/// Throws: UnsupportedError beginning with `subject` for what a file and its
/// readers have no constant for: live scales and scales per channel.
void expect_for_activation(std::string_view subject,
                           const QuantizerConfig& config);
/// Throws: UnsupportedError beginning with `subject` for rules of activations
/// and codes without a sign.
void expect_for_weight(std::string_view subject, const QuantizerConfig& config);

/// Per-tensor int8 [-128,127], fixed by calibration.
QuantizerConfig activation_quantizer();
/// Per-channel int8 [-127,127], live absmax.
QuantizerConfig weight_quantizer();

class Quantizer {
 public:
  /// Throws: ValueError for bits outside [2,8], and other options out of range
  /// or at odds with each other.
  Quantizer(std::string name, const QuantizerConfig& config);

  const std::string& name() const { return name_; }
  const QuantizerConfig& config() const { return config_; }

  /// Shows x to the observer, if there is one. Shared readers of one value
  /// observe it once.
  void observe(const Variable& x) const;

  /// Whether it rounds what it is given: it is on and has a scale.
  /// Throws: ValueError if it is on, has none and collects no ranges to get
  /// one.
  bool rounds() const;
  /// Observes and quantizes an activation as the switches say; in training its
  /// scale follows or learns as the rule says.
  /// Throws: as rounds(); ValueError for NaN or infinity that it would follow.
  Variable operator()(const Variable& x, Mode mode = Mode::inference) const;
  /// Likewise a weight, a leaf with its channels on `axis`.
  Variable weight(const Variable& w, int axis) const;

  /// The grid for a tensor with its channels on `axis`; with the live rule it
  /// is computed from `x`. Throws: ValueError if there is no scale; ShapeError
  /// if there is not one for each channel of `x`.
  Grid grid(const Tensor& x, int axis) const;
  /// grid() of a leaf's value. A live one is kept until the value changes:
  /// inference asks for it once for every few images. Thread-safe.
  Grid weight_grid(const Variable& weight, int axis) const;

  bool calibrated() const;
  /// The scale per tensor; empty for the live rule and before there is one.
  std::optional<float> scale() const;
  /// The scales, one or one a channel; empty for the live rule and before there
  /// are any.
  std::vector<float> scales() const;
  /// How many of them training has moved to the floor of scales that learn, a
  /// hundredth of where they began.
  int64_t scales_at_floor() const;
  /// The leaf that training moves, by gradients or by what it sees: the scale,
  /// or its binary logarithm. Empty for other rules and before there is one.
  Variable moving_scale() const;
  /// Throws: ValueError unless finite and positive; UnsupportedError for the
  /// live rule and for scales per channel.
  void set_scale(float scale);
  /// One scale a channel. Throws: ValueError for none, or unless all are
  /// finite and positive; UnsupportedError for the live rule and for a scale
  /// per tensor.
  void set_scales(std::span<const float> scales);

  /// While frozen, the scale stays as it is in training, too.
  void set_frozen(bool frozen);
  bool frozen() const { return frozen_; }

  /// Starts collecting ranges; with the live rule, and with scales per
  /// channel, which are a weight's, nothing happens.
  void start_observing(const CalibrationOptions& options);
  /// The range of what was observed; nothing if that is not known.
  /// Throws: ValueError unless the observer gives one that is finite and >= 0.
  std::optional<float> observed_range() const;
  /// Ends it and sets the scale. Returns the range, or nothing if there is none
  /// (the scale then stays as it was). Throws: as observed_range().
  std::optional<float> finish_observing();
  /// Ends it and keeps the scale as it was.
  void cancel_observing();
  /// What has been observed, for another quantizer like this one; null if
  /// nothing has. Throws: UnsupportedError for a custom observer.
  Config observations() const;
  /// Replaces it by what several observed, one after another.
  /// REQUIRES: ranges are being collected.
  /// Throws: ValueError, NotFoundError for what observations() does not give.
  void set_observations(std::span<const Config> parts);
  /// Whether ranges are being collected, and whether a tensor has been seen
  /// since that began.
  bool observing() const { return observer_ != nullptr && pauses_ == 0; }
  bool observed() const { return last_observed_.has_value(); }

  /// Between the two it sees nothing and keeps what it has. Pauses nest, and
  /// may be called from several threads.
  void pause_observing() const { ++pauses_; }
  void resume_observing() const { --pauses_; }

  /// Whether x is quantized at all; a switched-off quantizer keeps its scale
  /// and is still exported.
  void set_enabled(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  /// An independent copy without observations.
  std::shared_ptr<Quantizer> clone() const;

  /// What changes in its life: scale, switches, observations.
  /// Throws: UnsupportedError while a custom observer collects ranges.
  Config state() const;
  /// Puts it back, all of it or nothing.
  /// Throws: ValueError, NotFoundError for what state() does not give.
  void restore(const Config& state);

 private:
  void check_scales(std::span<const float> scales, bool per_channel) const;
  void expect_sign(const Tensor& x) const;
  void set(const Tensor& scale);
  void put_leaf(const Tensor& value, const Tensor& floor) const;
  void keep_above_floor() const;
  Tensor as_leaf(const Tensor& scale) const;
  Tensor as_scale(const Tensor& leaf) const;
  Tensor current_scale() const;
  LearnedScale learned_scale(int64_t values) const;
  bool follow(const Variable& x) const;

  std::string name_;
  QuantizerConfig config_;
  // A leaf [] or [c], the scale or its logarithm; none without a scale. Its
  // place stays: optimizers know it.
  mutable Variable scale_;
  mutable Tensor floor_;  // of a scale that learns
  mutable bool frozen_ = false;
  mutable int64_t steps_ = 0;  // that the scale followed
  // What each part of a batch showed last; one, where it is whole.
  mutable std::vector<std::pair<uint64_t, uint64_t>> followed_;
  bool enabled_ = true;
  std::shared_ptr<RangeObserver> observer_;
  CalibrationOptions observer_options_;
  mutable std::atomic<int> pauses_{0};
  mutable std::optional<uint64_t> last_observed_;

  struct LiveGrid {
    uint64_t id;
    uint64_t version;
    int axis;
    Grid grid;
  };
  mutable std::mutex mutex_;
  mutable std::optional<LiveGrid> live_;
};

}  // namespace octet::quant
