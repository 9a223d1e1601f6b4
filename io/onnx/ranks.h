// Ranks of operators' inputs, checked before onnx's shape inference, which
// accesses sizes by fixed axes.
#pragma once

#include <string>

#include "shape_inference.h"

namespace octet::io::rules {

/// Returns the check of an operator of the standard domain; empty for operators
/// with inputs of any rank. Inputs of unknown rank pass.
/// The check throws onnx::InferenceError naming input and ranks.
onnx::InferenceFunction rank_check(const std::string& op);

}  // namespace octet::io::rules
