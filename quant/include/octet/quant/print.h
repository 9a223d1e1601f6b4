// Text of placements: `std::cout << plan`.
#pragma once

#include <iosfwd>

#include <octet/quant/plan.h>

namespace octet::quant {

/// Prints a line per point: layer, site, configuration, rule, reason.
std::ostream& operator<<(std::ostream& out, const QdqPlan& plan);
/// Prints the numbers of Q/DQ pairs.
std::ostream& operator<<(std::ostream& out, const PairCount& pairs);

}  // namespace octet::quant
