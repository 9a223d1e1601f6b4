// Common interface to models and ONNX files, for `octet predict`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/tensor.h>

#include "read_model.h"
#include "sample_layout.h"

namespace octet::program {

struct RunnableInput {
  std::string name;
  std::string type;  ///< element type: "float32"
  /// Shape::kAnySize for dynamic sizes. None: any shape.
  std::optional<Shape> shape;
  std::string text;  ///< "[N,3,224,224]"
  AxisOrders orders;
  bool is_index = false;  ///< indices: also accepts integers
};

struct Predictor {
  std::vector<RunnableInput> inputs = {};
  std::vector<std::string> outputs = {};  ///< names
  /// Size of the batch axis, axis 0 of all inputs and outputs;
  /// Shape::kAnySize if dynamic. None: the model runs on its inputs as they
  /// are.
  std::optional<int64_t> samples = {};
  int64_t batch = 1;  ///< default size of a dynamic batch; 0: all samples
  /// Whether samples of a batch may depend on each other.
  bool check_independence = false;
  std::string takes = {};  ///< mode_of() the model
  std::function<std::vector<Tensor>(std::span<const Tensor>)> predict;
};

/// Loads a model like read_model(), or an ONNX file for the reference executor.
/// Other files named .onnx are read as ONNX as well, to report how they are
/// damaged.
/// Throws: as read_model() and io::load_onnx_reference().
Predictor load_predictor(const ModelSource& source);

}  // namespace octet::program
