// The error of a quantized model's outputs, sample by sample.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <octet/layers/model.h>

#include "calibration/signal_noise.h"

namespace octet::quant {

/// How the class of a sample, or of each of its pixels, is read off an output.
enum class Decision {
  none,     ///< a regression
  largest,  ///< index of the largest value along the last axis
  half,     ///< a single probability, above or below 0.5
  sign,     ///< a single logit, above or below 0
};

/// The error of one output over the samples added so far.
class OutputError {
 public:
  explicit OutputError(Decision decision) : decision_(decision) {}

  /// Shapes: equal, [n,...].
  void add(const Tensor& exact, const Tensor& rounded);

  const std::vector<SignalNoise>& samples() const { return samples_; }
  SignalNoise pooled() const;
  /// The median of the samples' SQNR in dB. Samples with less than a hundredth
  /// of the power of the 90th percentile are left out: a heat map without an
  /// object has no signal.
  double median_decibels() const;

  /// Rows of the last axis that were compared, and rows with another decision.
  /// A tie in the exact output counts for each of its classes.
  int64_t rows() const { return rows_; }
  int64_t disagreements() const { return disagreements_; }

 private:
  Decision decision_;
  std::vector<SignalNoise> samples_;
  int64_t rows_ = 0;
  int64_t disagreements_ = 0;
};

/// The SQNR of several outputs in dB: that of their mean noise-to-signal ratio,
/// so that an output of small values counts as much as one of large values. Of
/// a single output, its SQNR.
double mean_decibels(std::span<const SignalNoise> outputs);

/// How output `index` of a float model decides: by its softmax or sigmoid.
Decision decision_of(const Model& model, size_t index);

}  // namespace octet::quant
