// The parts that clipping consists of. Internal to train.
#pragma once

#include <span>
#include <vector>

#include <octet/runtime/variable.h>

namespace octet::train {

/// Of each gradient there is the sum of its squares, in order.
std::vector<double> gradient_squares(std::span<const Variable> parameters);

/// Scales the gradients so that their `norm` becomes `limit`, where it is
/// above that; one that is not finite changes nothing.
void limit_gradients(std::span<const Variable> parameters, double norm,
                     float limit);

/// Moves each gradient into [-limit, limit].
void limit_gradient_values(std::span<const Variable> parameters, float limit);

}  // namespace octet::train
