#pragma once

#include <octet/runtime/config.h>

namespace octet {

/// Regularization loss l1 * sum |w| + l2 * sum w^2, as Keras' L1L2.
struct Regularizer {
  float l1 = 0;  ///< >= 0
  float l2 = 0;  ///< >= 0

  bool none() const { return l1 == 0 && l2 == 0; }
  bool operator==(const Regularizer&) const = default;
};

/// Returns Keras' configuration, {"class_name": "L1L2", "config": {"l1": ..,
/// "l2": ..}}; null for none.
Config to_config(const Regularizer& regularizer);
/// Parses a configuration of class "L1", "L2" or "L1L2"; null is none.
/// Throws: ValueError for another class or a factor that is negative or not
/// finite.
Regularizer regularizer_from(const Config& config);
/// Checks the factors.
/// Throws: ValueError with subject `what` for a factor that is negative or not
/// finite.
void check_regularizer(const char* what, const Regularizer& regularizer);

}  // namespace octet
