// auto_mixed_precision: mixed-precision search, fewer weight bits for the
// layers that tolerate them best.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/quant/plan.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/sensitivity.h>

namespace octet::quant {

/// Latency of a layer on the target device with 8-bit weights (`wide`) and with
/// `narrow` ones, in any unit common to all layers.
struct LayerLatency {
  std::string layer;  ///< name of a layer with quantized weights
  double wide = 0;    ///< finite, >= 0
  double narrow = 0;  ///< finite, >= 0
};

/// Budget and options of auto_mixed_precision().
/// Fields in order: mean_bits, bytes, latency, score_loss, latencies, narrow,
/// narrow_activations, quantize, sensitivity
struct MixedOptions {
  // The budget: at most one of these four. Default: mean_bits = max(6, narrow).
  /// Largest mean number of bits per quantized weight; [narrow, 8].
  std::optional<double> mean_bits = {};
  /// Largest total size of all quantized weights in bytes, bit-packed by layer.
  std::optional<int64_t> bytes = {};
  /// Largest sum of `latencies` over the layers with quantized weights.
  std::optional<double> latency = {};
  /// Largest loss of `sensitivity`'s score against 8 bits, >= 0.
  std::optional<double> score_loss = {};

  /// An entry per layer with quantized weights, or none. Required by `latency`;
  /// for other budgets only reported as MixedPrecision::latency.
  std::vector<LayerLatency> latencies = {};
  int narrow = 4;  ///< bits of the narrow layers' weights, [2, 7]
  /// Bits of the narrow layers' inputs, [2, 8], for devices whose kernels need
  /// few bits on both sides. A tensor that a wide layer or a layer without
  /// weights also consumes keeps 8. Budgets count weights, or latencies.
  int narrow_activations = 8;
  /// Q/DQ placement. Its `bits` are ignored, as the search determines them.
  /// Live weight scales become fixed, with least square error.
  QuantizeOptions quantize = {};
  /// Samples and score. `samples` and `seed` also select the samples for
  /// calibration.
  SensitivityOptions sensitivity = {};
};

/// A layer with quantized weights.
struct MixedLayer {
  std::string layer;        ///< name in the float model
  int64_t weights = 0;      ///< number of quantized weights
  int bits = 8;             ///< bits of its weights: 8 or `narrow`
  int activation_bits = 8;  ///< bits of its inputs: 8 or `narrow_activations`
  /// SQNR of the model's outputs, as in QuantizationLoss, if this layer alone
  /// is narrowed: its weights to `narrow` bits, its inputs to
  /// `narrow_activations` if below 8.
  double sqnr = 0;
};

/// Result of auto_mixed_precision().
struct MixedPrecision {
  double mean_bits = 8;                 ///< over all quantized weights
  int64_t bytes = 0;                    ///< as in MixedOptions
  std::optional<double> latency = {};   ///< as in MixedOptions, given latencies
  std::vector<MixedLayer> layers = {};  ///< in the model's order
  /// Score with 8 bits in all layers; set by `score_loss`.
  std::optional<double> wide_score = {};
  std::optional<double> score = {};  ///< of the result; set by `score_loss`

  /// Returns the layers below 8 bits, for QuantizeOptions::bits.
  std::vector<LayerBits> bits() const;
  /// Returns a summary and a table of the layers.
  std::string to_string() const;
};

/// Narrows the weights of layers by increasing output noise per bit saved until
/// the budget is met. The layer that completes the budget is the quietest that
/// suffices. Noise is assumed to add up over layers. Runs as long as
/// sensitivity(). `score_loss` searches for the longest prefix of that order
/// that keeps the score, evaluating a handful of calibrated models.
///
///   QuantizeOptions options;
///   options.bits = auto_mixed_precision(model, data, {.mean_bits = 5}).bits();
///   options.weight.rule = ScaleRule::fixed;
///   Model int8 = quantize_model(model, options);
///   calibrate(int8, data, {.weights = WeightRange::mse});
///
/// With `narrow_activations`, calibrate with `.method = Calibration::mse`, as
/// auto_mixed_precision() does.
///
/// Throws: ValueError for several budgets, widths out of range,
/// `quantize.weight` (with `narrow_activations` also `quantize.activation`)
/// other than 8 bits, a budget below that of all layers narrow, and a latency
/// that is negative or not finite; NotFoundError for a layer without a latency
/// or a latency without a layer; as quantize_model(), calibrate() and
/// sensitivity().
MixedPrecision auto_mixed_precision(const Model& model, const Dataset& data,
                                    const MixedOptions& options = {});

}  // namespace octet::quant
