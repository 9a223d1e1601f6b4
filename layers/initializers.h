// First values of parameters.
#pragma once

#include <octet/layers/layer.h>

namespace octet {

/// Uniform in +-sqrt(6 / (fan_in + fan_out)).
/// Source: Glorot and Bengio, AISTATS 2010, eq. 16.
Initializer glorot_uniform();
Initializer constant_value(float value);

}  // namespace octet
