// Inputs of a model for the inputs of a graph. Internal to io/onnx/import.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/normalize/fold.h"

namespace octet::io::importing {

struct InputForm {
  std::string name;
  Shape sample = {};            ///< in Octet's order
  std::vector<int> order = {};  ///< of the file's axes; see value_of()
  std::string type = {};        ///< in the file, see is_port_type()
  bool batched = true;          ///< whether the file has a batch axis
};

/// Returns the form of each input. Images are channels first unless a Transpose
/// precedes the first convolution; sequences only if an operator requires it.
/// Scalars, vectors of fixed size, such as [5], and inputs whose fixed batch
/// sizes differ are samples without batch axis.
/// Throws: UnsupportedError for types that float32 cannot represent and for
/// unknown sizes; ValueError for options that do not fit.
std::vector<InputForm> input_forms(const OnnxGraph& graph,
                                   const OnnxImportOptions& options);

/// Whether a graph has LSTM, GRU or RNN, whose sequences and states have the
/// batch at their second axis.
bool is_recurrent(const OnnxGraph& graph);

/// Returns batch axis 1 for each input whose first axis is the steps:
/// sequences, indices and states of recurrent operators, also behind operators
/// that keep these axes.
std::unordered_map<std::string, int> inputs_with_steps_first(
    const OnnxGraph& graph);

/// Removes inputs without consumers, with a warning.
void drop_unused_inputs(OnnxGraph& graph);

/// Returns the number of samples if all inputs fix it; otherwise 0.
int64_t fixed_batch(const OnnxGraph& graph);

}  // namespace octet::io::importing
