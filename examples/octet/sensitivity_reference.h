// Sensitivity of a quantized file beside the float model it was made of.
#pragma once

#include <octet/layers/model.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/dataset.h>

namespace octet::program {

/// quant::sensitivity() with the weights of `reference`: as it is or, where the
/// quantized model has other layers, with batch normalization folded.
/// Throws: as quant::sensitivity(), for the reference as it is.
quant::Sensitivity sensitivity_beside(const Model& reference,
                                      const Model& quantized,
                                      const Dataset& samples,
                                      quant::SensitivityOptions options);

}  // namespace octet::program
