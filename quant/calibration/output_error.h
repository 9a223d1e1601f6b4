// Per-sample error of a quantized model's outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <octet/layers/model.h>

#include "calibration/signal_noise.h"

namespace octet::quant {

/// Rule that determines the class of a sample or pixel from an output.
enum class DecisionRule {
  none,     ///< regression
  largest,  ///< index of the largest value along the last axis
  half,     ///< a single probability, above or below 0.5
  sign,     ///< a single logit, above or below 0
};

/// Accumulates the error of an output over samples.
class OutputError {
 public:
  explicit OutputError(DecisionRule rule) : rule_(rule) {}

  /// Shapes: equal, [n,...].
  void add(const Tensor& exact, const Tensor& rounded);

  const std::vector<SignalNoise>& samples() const { return samples_; }
  SignalNoise pooled() const;
  /// Returns the median per-sample SQNR in dB. Ignores samples below 1/100 of
  /// the 90th percentile's power: a heat map without an object has no signal.
  double median_decibels() const;

  /// Number of compared rows of the last axis, and of rows with another
  /// decision. A tie in the exact output counts for each of its classes.
  int64_t rows() const { return rows_; }
  int64_t disagreements() const { return disagreements_; }

 private:
  DecisionRule rule_;
  std::vector<SignalNoise> samples_;
  int64_t rows_ = 0;
  int64_t disagreements_ = 0;
};

/// Returns the SQNR of several outputs in dB, from their mean noise-to-signal
/// ratio, so that outputs count equally regardless of magnitude.
double mean_decibels(std::span<const SignalNoise> outputs);

/// Returns the rule for output `index` of a float model, from its softmax or
/// sigmoid.
DecisionRule decision_rule(const Model& model, size_t index);

}  // namespace octet::quant
