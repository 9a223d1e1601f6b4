// Validation of patterns and conversions.
#pragma once

#include <vector>

#include <octet/quant/patterns.h>

namespace octet::quant {

/// Throw: as documented for transform().
void check(const std::vector<Pattern>& patterns);
void check(const std::vector<Conversion>& conversions);

}  // namespace octet::quant
