// Oscillations: detects, damps or freezes weights that oscillate between two
// quantized values during quantization-aware training.
//
//   const auto oscillations = train::oscillations({.freeze_above = 0.02f});
//   train::fit(int4, data, {.callbacks = {oscillations}});
//   print(oscillations->to_string());
//
// At low bit widths, oscillating weights corrupt the statistics of batch
// normalization, and their final quantized value is arbitrary. Source: Nagel et
// al., "Overcoming oscillations in quantization-aware training", arXiv
// 2203.11086.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/train/callback.h>

namespace octet::train {

/// Fields in order: momentum, freeze_above, damping
struct OscillationOptions {
  /// Weight of a new step in the moving averages of frequency and quantized
  /// value, (0, 1].
  float momentum = 0.01f;
  /// Frequency above which a weight is frozen at its mean quantized value,
  /// [0, 1]. The threshold falls along a cosine from ten times this value at
  /// the start to this value at the end of training. 0 freezes none. Not for
  /// weights with live scales, which would change the frozen values.
  float freeze_above = 0;
  /// Share of the distance to its dequantized value that a weight moves after
  /// each step, [0, 1]. It rises along a cosine from 0 at the start to this
  /// value at the end of training. 0: no damping.
  float damping = 0;
};

/// Oscillation counts of the weights of a quantizer.
struct OscillationShare {
  std::string quantizer;
  int64_t weights = 0;
  int64_t oscillating = 0;  ///< frequency above 0.005
  int64_t frozen = 0;
};

/// Tracks all trained weights whose quantizer is enabled at the start of the
/// fit. A weight oscillates in a step in which its quantized value changes
/// opposite to its previous change; its frequency is a moving average of these
/// events.
class Oscillations : public Callback {
 public:
  /// Returns the counts per quantizer, in model order, of the current or latest
  /// fit.
  virtual std::vector<OscillationShare> shares() const = 0;
  /// Returns the share of oscillating weights among all tracked, [0, 1].
  double share() const;
  /// Returns the share and a table of quantizers, largest share first.
  std::string to_string() const;
};

/// Returns a callback that tracks oscillations.
/// Throws: ValueError for options out of range; at the start of the fit, for a
/// model without trainable quantized weights, and for live scales with
/// `freeze_above`.
std::shared_ptr<Oscillations> oscillations(
    const OscillationOptions& options = {});

}  // namespace octet::train
