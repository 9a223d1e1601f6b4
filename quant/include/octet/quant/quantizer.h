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

#include <octet/quant/observer.h>
#include <octet/runtime/config.h>
#include <octet/runtime/grid.h>
#include <octet/runtime/variable.h>

namespace octet::quant {

/// Where the scale of a quantizer comes from.
enum class ScaleRule {
  fixed,  ///< set by calibration, by hand or by folding, then kept
  live,   ///< recomputed from the tensor in every forward pass
};

struct QuantizerConfig {
  int bits = 8;               ///< [2, 8]
  bool narrow_range = false;  ///< lowest code -(2^(bits-1) - 1), for weights
  bool per_channel = false;
  ScaleRule rule = ScaleRule::fixed;

  int high() const { return (1 << (bits - 1)) - 1; }
  int low() const { return narrow_range ? -high() : -high() - 1; }
  bool operator==(const QuantizerConfig&) const = default;
};

/// "int8 [-127,127] per channel live".
std::string to_string(const QuantizerConfig& config);

/// Per-tensor int8 [-128,127], fixed by calibration.
QuantizerConfig activation_quantizer();
/// Per-channel int8 [-127,127], live absmax.
QuantizerConfig weight_quantizer();

class Quantizer {
 public:
  /// Throws: ValueError for bits outside [2,8].
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
  /// Observes and quantizes x as the switches say. Throws: as rounds().
  Variable operator()(const Variable& x) const;

  /// The grid for a tensor with its channels on `axis`; with the live rule it
  /// is computed from `x`. Throws: ValueError if there is no scale; ShapeError
  /// if there is not one for each channel of `x`.
  Grid grid(const Tensor& x, int axis) const;
  /// grid() of a leaf's value. A live one is kept until the value changes:
  /// inference asks for it once for every few images. Thread-safe.
  Grid weight_grid(const Variable& weight, int axis) const;

  bool calibrated() const;
  /// A fixed scale per tensor; empty for other rules and before calibration.
  std::optional<float> scale() const;
  /// The fixed scales, one or one a channel; empty for the live rule and
  /// before calibration.
  std::span<const float> scales() const;
  /// Throws: ValueError unless finite and positive; UnsupportedError for the
  /// live rule and for scales per channel.
  void set_scale(float scale);
  /// One scale a channel. Throws: ValueError for none, or unless all are
  /// finite and positive; UnsupportedError for the live rule and for a scale
  /// per tensor.
  void set_scales(std::span<const float> scales);

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

  std::string name_;
  QuantizerConfig config_;
  Tensor scale_;  // [] or [c]; empty without one
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
