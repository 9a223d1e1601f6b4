// What `octet predict` runs, whatever its file.
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
  std::string type;  ///< of the elements: "float32"
  Shape shape;       ///< Shape::kAnySize where a size is open
  std::string text;  ///< "[N,3,224,224]"
  AxisOrders orders;
};

struct Runnable {
  std::vector<RunnableInput> inputs = {};
  std::vector<std::string> outputs = {};  ///< names
  int64_t batch = 1;       ///< samples to run at a time, if nobody says
  std::string takes = {};  ///< mode_of() the model
  std::function<std::vector<Tensor>(std::span<const Tensor>)> predict;
};

/// A model as read_model() takes it, or an ONNX file. What is no other model
/// and is called .onnx is read as one, so that its error is that of a damaged
/// file.
/// Throws: as read_model() and io::load_onnx_reference(); UnsupportedError for
/// inputs without an axis of samples.
Runnable read_runnable(const ModelSource& source);

}  // namespace octet::program
