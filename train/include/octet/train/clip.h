// Clipping: bounds on gradients between backward() and Optimizer::step().
#pragma once

#include <span>

#include <octet/runtime/variable.h>

namespace octet::train {

/// The norm of the vector that all gradients form together. Parameters without
/// one have no part in it.
double gradient_norm(std::span<const Variable> parameters);

/// Scales all gradients together so that the norm of the vector they form is
/// at most `limit`, and returns the norm they had. A norm that is not finite
/// changes nothing. Parameters without a gradient have no part in it.
/// Throws: ValueError unless the limit is finite and above 0, or if none of the
/// parameters has a gradient.
double clip_gradients_by_norm(std::span<const Variable> parameters,
                              float limit);

/// Moves each gradient into [-limit, limit]; NaN stays.
/// Throws: as clip_gradients_by_norm().
void clip_gradients_by_value(std::span<const Variable> parameters, float limit);

}  // namespace octet::train
