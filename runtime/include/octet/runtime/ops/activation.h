// Activation functions, value by value.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// max(x, 0), and at most `max_value`. The gradient at both ends is 0.
Variable relu(const Variable& x);
Variable relu(const Variable& x, float max_value);

}  // namespace octet
