// Weight scales computed from the values.
#pragma once

#include <octet/quant/quantizer.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Returns the scales for `config`: per slice of `axis`, [c], or per tensor,
/// []. All-zero values have scale 1.
/// Throws: ValueError for NaN or infinity.
Tensor weight_scales(const Tensor& weight, int axis,
                     const QuantizerConfig& config, WeightRange range);

}  // namespace octet::quant
