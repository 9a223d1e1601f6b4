// Conversion of a file's scales to those of a model's quantizers. Internal to
// io/keras.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/plan.h>
#include <octet/quant/quantizer.h>

#include "keras/scales.h"

namespace octet::io {

/// Returns the Q/DQ points of these scales in the float model they were read
/// for. If a layer has fewer scales than inputs, equal ranges of their tensors
/// or, with a warning, the toolkit's residual case determine the inputs.
/// Throws: UnsupportedError if neither does; FormatError for more scales than
/// inputs.
quant::QdqPlan plan_of(const std::vector<StoredScales>& scales,
                       const Model& model);

/// Scales of a quantized model's quantizers, to be set together.
using QuantizerScales =
    std::map<std::shared_ptr<quant::Quantizer>, std::vector<float>>;

/// Returns the scales of all quantizers of the model. A quantizer with scales
/// of several layers of the file gets the largest, with a warning if they
/// differ.
/// Throws: FormatError naming layers with Q/DQ in the model or the file only,
/// unless `partial`, and for scales per channel if the model has one scale.
QuantizerScales scales_for(Model& model,
                           const std::vector<StoredScales>& scales,
                           bool partial);

/// Skips quantizers that derive their scale from the weight.
void set_scales(const QuantizerScales& scales);

}  // namespace octet::io
