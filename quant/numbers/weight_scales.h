// Weight scales computed from the values.
#pragma once

#include <string_view>

#include <octet/quant/quantizer.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Returns the parameters for `config` with the scales of the largest
/// magnitudes: per slice of `axis`, [c], per tensor, [], or per block along the
/// inputs of a kernel with output channels on `axis`. All-zero values have
/// scale 1.
/// Throws: ValueError for NaN or infinity; UnsupportedError with `subject` for
/// blocks of a kernel whose rank is not 2.
QuantParams live_qparams(std::string_view subject, const Tensor& weight,
                         int axis, const QuantizerConfig& config);
/// Returns the scales for `config`, chosen by `range`. Throws: as above.
Tensor weight_scales(std::string_view subject, const Tensor& weight, int axis,
                     const QuantizerConfig& config, WeightRange range);
/// Reshapes a flat list of block scales for a weight with output channels on
/// `axis`. Returns `qparams` unchanged without blocks.
/// Throws: as above; ShapeError for a number of scales that does not fit.
QuantParams with_reshaped_blocks(std::string_view subject, QuantParams qparams,
                                 const Shape& weight, int axis);

}  // namespace octet::quant
