// Validity of quantizer configurations.
#pragma once

#include <string_view>

#include <octet/quant/quantizer.h>

namespace octet::quant {

/// Throws: ValueError naming the quantizer for options out of range or in
/// conflict.
void check_quantizer(std::string_view name, const QuantizerConfig& config);

}  // namespace octet::quant
