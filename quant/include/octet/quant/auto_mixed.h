// auto_mixed: which layers' weights may have fewer bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <octet/quant/layer_bits.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/sensitivity.h>

namespace octet::quant {

struct MixedOptions {
  /// Budget: bits a quantized weight has at most, on average; [narrow, 8].
  double mean_bits = 6;
  int narrow = 4;  ///< bits of the layers that lose least by them, [2, 7]
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
  /// Of the outputs where its weights alone have `narrow` bits: as in
  /// QuantizationLoss.
  double sqnr = 0;
};

struct MixedPrecision {
  double mean_bits = 8;                 ///< of all quantized weights
  std::vector<MixedLayer> layers = {};  ///< in the model's order

  /// For QuantizeOptions::bits: the layers with fewer bits than 8.
  std::vector<LayerBits> bits() const;
  /// The mean, and the layers.
  std::string to_string() const;
};

/// Narrows the weights of layers one by one, those first that add least noise
/// to the outputs for the bits they save, until one more, the one with least
/// noise of those that can, brings the mean into the budget. The noise of
/// layers is taken to add up. Takes as long as sensitivity().
///
///   QuantizeOptions options;
///   options.bits = auto_mixed(model, data, {.mean_bits = 5}).bits();
///   options.weight.rule = ScaleRule::fixed;
///   Model int8 = quantize_model(model, options);
///   calibrate(int8, data, {.weights = WeightRange::mse});
///
/// Throws: ValueError for a budget outside of its range, saying what can be
/// had; as quantize_model(), calibrate() and sensitivity().
MixedPrecision auto_mixed(const Model& model, const Dataset& data,
                          const MixedOptions& options = {});

}  // namespace octet::quant
