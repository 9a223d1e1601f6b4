// What helps a quantized model that is much worse than its float model.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "calibration_options.h"
#include "placement_options.h"

namespace octet::program {

/// A model with batch normalization folded and channels equalized
/// (quant::equalize()). Warns, as `option`, if no two layers of it can be.
Model equalized(const Model& model, const char* option);

/// How a model was quantized.
struct QuantizedAs {
  const PlacementOptions& placement;
  const CalibrationChoice& calibration;
  bool equalized = false;
  bool few_bits = false;   ///< some weights have less than 8 bits
  bool calibrated = true;  ///< by `calibration`: other methods can be tried
};

/// Options that help, as sentences: the methods and the equalization that were
/// tried on some of the samples and raise the SQNR of the outputs, with
/// figures, and the layer to blame (quant::sensitivity()).
std::vector<std::string> find_cures(const Model& model, const Model& quantized,
                                    const Dataset& data, const QuantizedAs& as);

}  // namespace octet::program
