// Keras' activation functions that are made of several operations.
#pragma once

#include <span>

#include "activation_functions.h"

namespace octet {

std::span<const ActivationFunction> composed_activations();

}  // namespace octet
