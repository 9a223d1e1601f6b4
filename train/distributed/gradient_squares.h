// Steps of gradient clipping. Internal to train.
#pragma once

#include <span>
#include <vector>

#include <octet/runtime/variable.h>

namespace octet::train {

/// Returns the sum of squares of each existing gradient, in order.
std::vector<double> gradient_squares(std::span<const Variable> parameters);

/// Scales gradients of global norm `norm` to `limit` if the norm is finite and
/// above the limit.
void limit_gradients(std::span<const Variable> parameters, double norm,
                     float limit);

/// Clamps each gradient element to [-limit, limit].
void limit_gradient_values(std::span<const Variable> parameters, float limit);

}  // namespace octet::train
