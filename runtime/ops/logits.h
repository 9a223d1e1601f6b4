// Conversion of model outputs to logits. Internal to the losses.
#pragma once

#include <string_view>

#include <octet/runtime/variable.h>

namespace octet::loss {

/// Returns the logits of `outputs`: the input of softmax or sigmoid
/// (`activation`) if the tape has it, so that gradients are exact; else the
/// inverse function, with probabilities clipped to [1e-7, 1] (softmax) or
/// [1e-7, 1 - 1e-7], as in Keras. With `from_logits`, returns `outputs`.
/// Throws: ValueError with subject `loss` if `from_logits` and `outputs` are
/// outputs of `activation`.
Variable logits_of(std::string_view loss, std::string_view activation,
                   const Variable& outputs, bool from_logits);

}  // namespace octet::loss
