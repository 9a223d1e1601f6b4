// A checked file made ready to run: constants, nodes with their operators and
// numbered values, and when each value is read for the last time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/runtime/tensor.h>

#include "operators.h"

namespace octet::io::run {

/// Stands for an input or output that a node leaves out.
inline constexpr size_t kNoValue = static_cast<size_t>(-1);

struct Step {
  onnx::NodeProto node;
  Operator run = nullptr;
  std::vector<size_t> inputs;
  std::vector<size_t> outputs;
  std::vector<int32_t> types;    ///< of outputs, as onnx numbers them; 0: open
  std::vector<size_t> released;  ///< values that nobody reads after it
};

struct Program {
  int64_t opset = 0;
  std::vector<OnnxTensorInfo> inputs;
  std::vector<OnnxTensorInfo> outputs;
  std::vector<size_t> input_values;
  std::vector<int32_t> input_types;  ///< as onnx numbers them
  std::vector<size_t> output_values;
  std::vector<Tensor> constants;  ///< by value; empty where a node makes it
  std::vector<Step> steps;
};

/// REQUIRES: check_onnx() has passed. Throws: UnsupportedError listing all
/// operators and element types that are not supported; FormatError.
Program program_of(onnx::ModelProto model);

/// The outputs, which share nothing with the inputs or the program.
/// REQUIRES: check_inputs() and check_limits() have passed. Throws: FormatError
/// naming the node that does not fit or meets a limit.
Values run(const Program& program, std::span<const Tensor> inputs,
           const FileLimits& limits);

/// Throws: ValueError for another number of tensors or another type;
/// ShapeError for another shape.
void check_inputs(const Program& program, std::span<const Tensor> inputs);

}  // namespace octet::io::run
