// Oscillations: weights that jump to and fro between two codes in
// quantization-aware training, counted, damped or frozen.
//
//   const auto oscillations = train::oscillations({.freeze_above = 0.02f});
//   train::fit(int4, data, {.callbacks = {oscillations}});
//   print(oscillations->to_string());
//
// With few bits such weights keep the statistics of batch normalization from
// what inference sees, and their last code is a matter of chance. Source: Nagel
// et al., "Overcoming oscillations in quantization-aware training", arXiv
// 2203.11086.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <octet/train/callback.h>

namespace octet::train {

/// Fields in order: momentum, freeze_above, damping
struct OscillationOptions {
  /// Of the running frequency and mean code: of a new step, (0, 1].
  float momentum = 0.01f;
  /// A weight whose frequency is above this, at the end of training, stays at
  /// its mean code from then on; it is allowed ten times as much at the
  /// beginning, falling along a cosine. [0, 1]; 0: none is frozen. Not for
  /// weights with live scales, which would follow the frozen ones.
  float freeze_above = 0;
  /// At the end of training, rising along a cosine from 0 at the beginning:
  /// after each step a weight moves this share of the way to the value of its
  /// code. [0, 1]; 0: it does not.
  float damping = 0;
};

/// Of the weights under one quantizer.
struct OscillationShare {
  std::string quantizer;
  int64_t weights = 0;
  int64_t oscillating = 0;  ///< frequency above 0.005
  int64_t frozen = 0;
};

/// A weight oscillates in a step where its code changes against the direction
/// of its last change; its frequency is a moving average of that. Of all
/// weights with a quantizer that is on.
class Oscillations : public Callback {
 public:
  /// In the model's order, of the fit that ended last or is running.
  virtual std::vector<OscillationShare> shares() const = 0;
  /// Oscillating weights of all, [0, 1].
  double share() const;
  /// The share, and the quantizers with most of them first.
  std::string to_string() const;
};

/// Throws: ValueError for options out of range; as the fit begins, for a model
/// without quantized weights that train, and for live scales to freeze on. What
/// is switched on or off later is no matter.
std::shared_ptr<Oscillations> oscillations(
    const OscillationOptions& options = {});

}  // namespace octet::train
