// What `octet predict` runs, whatever its file: a model of one input and one
// output.
#pragma once

#include <functional>
#include <string>

#include <octet/runtime/tensor.h>

#include "read_model.h"

namespace octet::program {

struct Runnable {
  std::string type;        ///< of the input's elements: "float32"
  Shape input;             ///< Shape::kAnySize where a size is open
  std::string input_text;  ///< "[N,3,224,224]"
  int64_t batch = 1;       ///< samples to run at a time, if nobody says
  std::function<Tensor(const Tensor&)> predict;
};

/// A model as read_model() takes it, or an ONNX file. What is no other model
/// and is called .onnx is read as one, so that its error is that of a damaged
/// file.
/// Throws: as read_model() and io::load_onnx_reference(); UnsupportedError for
/// several inputs or outputs.
Runnable read_runnable(const ModelSource& source);

}  // namespace octet::program
