// Text of models, symbolic tensors and sessions: `std::cout << model`.
#pragma once

#include <iosfwd>
#include <string>

#include <octet/layers/graph.h>
#include <octet/layers/inference_session.h>
#include <octet/layers/model.h>

namespace octet {

/// Returns the shape and the producing layer: "[N,32,32,16] of Conv2D 'stem'".
/// An empty handle is "empty symbolic tensor".
std::string to_string(const SymbolicTensor& x);

/// Prints to_string(x).
std::ostream& operator<<(std::ostream& out, const SymbolicTensor& x);
/// Prints Model::summary().
std::ostream& operator<<(std::ostream& out, const Model& model);
/// Prints a line per fused step.
std::ostream& operator<<(std::ostream& out, const InferenceSession& session);

}  // namespace octet
