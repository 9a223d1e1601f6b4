// The inputs of a model for those of a graph. Internal to io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include "graph.h"

namespace octet::io::importing {

struct InputForm {
  std::string name;
  Shape sample;            ///< in Octet's order
  std::vector<int> order;  ///< see view_of()
  std::string type;        ///< in the file, as is_port_type() allows
};

/// Images are taken to have their channels first, unless a Transpose brings
/// them there; sequences if an operator behind them wants that.
/// Throws: UnsupportedError for inputs that are no samples of a type that
/// float32 holds, or whose sizes nobody says; ValueError for options that do
/// not fit.
std::vector<InputForm> input_forms(const ImportGraph& graph,
                                   const OnnxImportOptions& options);

/// The number of samples, where all inputs fix it; else 0.
int64_t fixed_batch(const ImportGraph& graph);

}  // namespace octet::io::importing
