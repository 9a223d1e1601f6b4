// Common interface to models and ONNX files, for `octet predict`.
#pragma once

#include <functional>
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
  Shape shape;       ///< Shape::kAnySize for dynamic sizes
  std::string text;  ///< "[N,3,224,224]"
  AxisOrders orders;
};

struct Predictor {
  std::vector<RunnableInput> inputs = {};
  std::vector<std::string> outputs = {};  ///< names
  int64_t batch = 1;                      ///< default batch size
  std::string takes = {};                 ///< mode_of() the model
  std::function<std::vector<Tensor>(std::span<const Tensor>)> predict;
};

/// Loads a model like read_model(), or an ONNX file for the reference executor.
/// Other files named .onnx are read as ONNX as well, to report how they are
/// damaged.
/// Throws: as read_model() and io::load_onnx_reference(); UnsupportedError for
/// inputs without a batch axis.
Predictor load_predictor(const ModelSource& source);

}  // namespace octet::program
