// What patterns and conversions must be.
#pragma once

#include <vector>

#include <octet/quant/conversion.h>
#include <octet/quant/pattern.h>

namespace octet::quant {

/// Throws: as transform() says.
void check(const std::vector<Pattern>& patterns);
void check(const std::vector<Conversion>& conversions);

}  // namespace octet::quant
