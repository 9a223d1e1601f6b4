#pragma once

#include <octet/runtime/config.h>

namespace octet {

/// Adds the regularization loss l1 * sum |w| + l2 * sum w^2, as Keras' L1L2.
struct Regularizer {
  float l1 = 0;  ///< >= 0
  float l2 = 0;  ///< >= 0

  bool none() const { return l1 == 0 && l2 == 0; }
  bool operator==(const Regularizer&) const = default;
};

/// Keras' form: {"class_name": "L1L2", "config": {"l1": .., "l2": ..}}, null
/// for none; reading takes "L1" and "L2", too.
Config to_config(const Regularizer& regularizer);
/// Throws: ValueError for another class or a number that is not finite and
/// >= 0.
Regularizer regularizer_from(const Config& config);
/// Throws: ValueError as above, naming `what`.
void check_regularizer(const char* what, const Regularizer& regularizer);

}  // namespace octet
