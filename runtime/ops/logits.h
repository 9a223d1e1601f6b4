// Outputs of a model as logits, for losses that are computed from them.
// Internal to the losses.
#pragma once

#include <string_view>

#include <octet/runtime/variable.h>

namespace octet::loss {

/// The logits that gave `outputs`: what softmax or sigmoid (`activation`) made
/// them of where the tape knows, so that gradients are exact; else their
/// inverse, of probabilities in [1e-7, 1] (softmax) or [1e-7, 1 - 1e-7], as
/// Keras computes. With `from_logits` the outputs themselves.
/// Throws: ValueError naming `loss` for logits that `activation` made.
Variable logits_of(std::string_view loss, std::string_view activation,
                   const Variable& outputs, bool from_logits);

}  // namespace octet::loss
