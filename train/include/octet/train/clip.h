// Gradient clipping, between backward() and Optimizer::step().
#pragma once

#include <span>

#include <octet/runtime/variable.h>

namespace octet::train {

/// Returns the global L2 norm of all gradients. Parameters without a gradient
/// are skipped.
double gradient_norm(std::span<const Variable> parameters);

/// Scales all gradients by a common factor so that their global norm is at most
/// `limit`, and returns the norm before clipping. If it is not finite,
/// gradients stay unchanged. Parameters without a gradient are skipped.
/// Throws: ValueError unless the limit is finite and above 0, or if none of the
/// parameters has a gradient.
double clip_gradients_by_norm(std::span<const Variable> parameters,
                              float limit);

/// Clamps each gradient element to [-limit, limit]; NaN stays NaN.
/// Throws: as clip_gradients_by_norm().
void clip_gradients_by_value(std::span<const Variable> parameters, float limit);

}  // namespace octet::train
