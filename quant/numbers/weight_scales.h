// Scales of a weight, from its values.
#pragma once

#include <octet/quant/observer.h>
#include <octet/quant/quantizer.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// As `config` has them: one for each slice of `axis`, [c], or one in all, [].
/// Values of no range give 1. Throws: ValueError for NaN or infinity.
Tensor weight_scales(const Tensor& weight, int axis,
                     const QuantizerConfig& config, WeightRange range);

}  // namespace octet::quant
