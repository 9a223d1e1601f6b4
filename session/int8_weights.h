// Weights that a session file stores as quantized values. Internal to session.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <octet/layers/model.h>
#include <octet/runtime/tensor.h>

namespace octet::session {

/// A quantized weight: scale * q.
struct Int8Weight {
  Tensor values;  ///< i8
  Tensor scale;   ///< f32, rank 0 or, per channel, rank 1
  int axis = -1;  ///< channel axis from 0, or -1 per tensor
};

/// Layer (of the float model) and parameter.
using WeightName = std::pair<std::string, std::string>;

/// Returns the weights of which inference uses only the quantized values, and
/// whose dequantized values quantize to the same values and scales.
std::map<WeightName, Int8Weight> int8_weights(const Model& model);

}  // namespace octet::session
