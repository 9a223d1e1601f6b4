#pragma once

#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: exponent, name
struct PowerOptions {
  float exponent = 1;
  std::string name = "";
};

/// Computes x^exponent for each element; NaN for negative x and a non-integer
/// exponent.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for a non-finite exponent.
class Power : public LayerHandle {
 public:
  explicit Power(const PowerOptions& options);
  explicit Power(float exponent) : Power(PowerOptions{.exponent = exponent}) {}
};

}  // namespace octet
