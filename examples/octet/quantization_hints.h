// Remedies for a quantized model that is much worse than its float model.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/dataset.h>

#include "calibration_options.h"
#include "placement_options.h"

namespace octet::program {

/// Returns the model with batch normalization folded and channel ranges
/// equalized (quant::equalize()); nothing if no pair of layers can be
/// equalized.
std::optional<Model> equalized(const Model& model);

/// Warns, naming `option`, if no pair of layers can be equalized.
void warn_unless_equalizable(const Model& model, const char* option);

/// Options a model was quantized with.
struct QuantizedAs {
  const PlacementOptions& placement;
  const CalibrationChoice& calibration;
  bool equalized = false;
  bool few_bits = false;   ///< some weights have fewer than 8 bits
  bool calibrated = true;  ///< by `calibration`, so that other methods may help
};

/// A calibrated model, and the result as text.
struct Calibrated {
  Model model;
  std::string report;
};

/// Returns the equalized() model, quantized and calibrated, or nothing if no
/// pair of layers can be equalized or the placement names a layer that folding
/// removes.
std::optional<Calibrated> calibrated_equalized(const Model& model,
                                               const Dataset& data,
                                               const QuantizedAs& as);

/// If the outputs of `int8` have an SQNR below 30 dB on samples of `data`,
/// replaces it by the equalized model of `other` if that gains 3 dB. Returns
/// the result as text, empty if `int8` is unchanged, and sets "equalized" in
/// `figures`.
std::string use_equalized(
    const Model& model, Model& int8, const Dataset& data, Config& figures,
    const std::function<std::optional<Calibrated>()>& other);

/// Returns helpful options as phrases: calibration methods and equalization
/// that raise the output SQNR on a subset of the samples, with figures, and the
/// layer with the largest loss (quant::sensitivity()).
std::vector<std::string> find_hints(const Model& model, const Model& quantized,
                                    const Dataset& data, const QuantizedAs& as);

}  // namespace octet::program
