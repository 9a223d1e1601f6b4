// The ranks that operators take, checked before onnx's shape inference runs:
// it reads the sizes of inputs by fixed axes.
#pragma once

#include <string>

#include "rules.h"

namespace octet::io::rules {

/// The check of an operator of the standard domain; empty for operators that
/// take inputs of any rank. Inputs of unknown rank pass.
/// Throws (the function): onnx::InferenceError naming input and ranks.
onnx::InferenceFunction rank_check(const std::string& op);

}  // namespace octet::io::rules
