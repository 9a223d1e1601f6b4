// Softmax.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// exp(x) / sum exp(x) over the last axis.
Variable softmax(const Variable& x);

}  // namespace octet
