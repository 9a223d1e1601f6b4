// Sensitivity of a quantized file relative to its float model.
#pragma once

#include <octet/layers/model.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/dataset.h>

namespace octet::program {

/// Runs quant::sensitivity() with the weights of `reference`: unchanged, or
/// with batch normalization folded if the layers differ.
/// Throws: as quant::sensitivity() for the unchanged reference.
quant::Sensitivity sensitivity_beside(const Model& reference,
                                      const Model& quantized,
                                      const Dataset& samples,
                                      quant::SensitivityOptions options);

}  // namespace octet::program
