// Inputs of a model for the inputs of a graph. Internal to io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include "graph.h"

namespace octet::io::importing {

struct InputForm {
  std::string name;
  Shape sample;            ///< in Octet's order
  std::vector<int> order;  ///< see view_of()
  std::string type;        ///< in the file, see is_port_type()
};

/// Assumes that images are channels first, unless a Transpose makes them so,
/// and sequences if a following operator requires it. Throws: UnsupportedError
/// for inputs without a batch axis, of types that float32 cannot represent, or
/// of unknown sizes; ValueError for options that do not fit.
std::vector<InputForm> input_forms(const OnnxGraph& graph,
                                   const OnnxImportOptions& options);

/// Returns the number of samples if all inputs fix it; otherwise 0.
int64_t fixed_batch(const OnnxGraph& graph);

}  // namespace octet::io::importing
