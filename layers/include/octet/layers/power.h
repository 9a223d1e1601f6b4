#pragma once

#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: exponent, name
struct PowerOptions {
  float exponent = 1;
  std::string name = "";
};

/// x^exponent of every value; NaN where x is negative and the exponent is no
/// integer. Shapes: [n,...] -> [n,...]. Throws: ValueError for an exponent that
/// is not finite.
class Power : public LayerHandle {
 public:
  explicit Power(const PowerOptions& options);
  explicit Power(float exponent) : Power(PowerOptions{.exponent = exponent}) {}
};

}  // namespace octet
