// auto_mixed: which layers may have fewer bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/quant/layer_bits.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/sensitivity.h>

namespace octet::quant {

/// How long a layer takes on the device, its weights in 8 bits and in `narrow`
/// ones: measured there, in any unit, the same for all.
struct LayerLatency {
  std::string layer;
  double wide = 0;    ///< >= 0
  double narrow = 0;  ///< >= 0
};

/// Fields in order: mean_bits, bytes, latency, score_loss, latencies, narrow,
/// narrow_activations, quantize, judge
struct MixedOptions {
  // The budget: one of these four; if none is given, a mean of 6 bits, or of
  // `narrow` if that is more.
  /// Bits a quantized weight has at most, on average; [narrow, 8].
  std::optional<double> mean_bits = {};
  /// Bytes that the codes of all quantized weights take at most, as many to a
  /// byte as there is room for.
  std::optional<int64_t> bytes = {};
  /// What `latencies` add up to at most, over the layers with quantized
  /// weights.
  std::optional<double> latency = {};
  /// How far the score of `judge` may be below that of 8 bits: as many layers
  /// are narrow as it allows.
  std::optional<double> score_loss = {};

  std::vector<LayerLatency> latencies = {};
  int narrow = 4;  ///< bits of the layers that lose least by them, [2, 7]
  /// Bits of what those layers read, [2, 8]: devices whose kernels have few
  /// bits on both sides need it. A tensor that a wide layer or one without
  /// weights reads, too, keeps 8. Budgets are of weights, or latencies.
  int narrow_activations = 8;
  /// Where Q/DQ goes. Its `bits` are what is looked for; live scales of weights
  /// become fixed, of least square error.
  QuantizeOptions quantize = {};
  SensitivityOptions judge = {};
};

/// A layer with quantized weights.
struct MixedLayer {
  std::string layer;
  int64_t weights = 0;  ///< how many
  int bits = 8;
  int activation_bits = 8;  ///< of what it reads
  /// Of the outputs where its weights alone have `narrow` bits, and what it
  /// reads `narrow_activations` if these are fewer than 8: as in
  /// QuantizationLoss.
  double sqnr = 0;
};

struct MixedPrecision {
  double mean_bits = 8;                 ///< of all quantized weights
  int64_t bytes = 0;                    ///< as in MixedOptions
  std::optional<double> latency = {};   ///< likewise, where there is a table
  std::vector<MixedLayer> layers = {};  ///< in the model's order
  /// With `score_loss`: of the model with 8 bits, and as it is now.
  std::optional<double> wide_score = {};
  std::optional<double> score = {};

  /// For QuantizeOptions::bits: the layers with fewer bits than 8.
  std::vector<LayerBits> bits() const;
  /// What it comes to, and the layers.
  std::string to_string() const;
};

/// Narrows the weights of layers one by one, those first that add least noise
/// to the outputs for what they save, until one more, the one with least noise
/// of those that can, brings the whole into the budget. The noise of layers is
/// taken to add up. Takes as long as sensitivity(). With `score_loss` it looks
/// for the longest beginning of that order, by the bits saved, that keeps the
/// score: a handful of calibrated models are judged.
///
///   QuantizeOptions options;
///   options.bits = auto_mixed(model, data, {.mean_bits = 5}).bits();
///   options.weight.rule = ScaleRule::fixed;
///   Model int8 = quantize_model(model, options);
///   calibrate(int8, data, {.weights = WeightRange::mse});
///
/// With `narrow_activations` add `.method = Calibration::mse`, as it does.
///
/// Throws: ValueError for several budgets, for widths out of range, for
/// `quantize.weight` (with `narrow_activations`, `quantize.activation`, too)
/// that has not 8 bits, for a budget that cannot be met, saying
/// how near all narrow layers come to it, and for a latency that is not finite
/// or below 0; NotFoundError for a layer without a latency, or a latency of no
/// layer with quantized weights; as quantize_model(), calibrate() and
/// sensitivity().
MixedPrecision auto_mixed(const Model& model, const Dataset& data,
                          const MixedOptions& options = {});

}  // namespace octet::quant
