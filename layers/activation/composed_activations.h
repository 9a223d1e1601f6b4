// Keras' activation functions composed of several ops.
#pragma once

#include <span>

#include "activation/activation_functions.h"

namespace octet {

std::span<const ActivationFunction> composed_activations();

}  // namespace octet
