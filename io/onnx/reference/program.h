// A checked file prepared for execution: constants, nodes with their operators,
// numbered values, and the last use of each value. A graph of an If, Loop or
// Scan is a program of its own.
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

/// Represents an absent input or output.
inline constexpr size_t kNoValue = static_cast<size_t>(-1);

struct Program;

struct PreparedNode {
  onnx::NodeProto node;
  Operator run = nullptr;  ///< null for operators with subgraphs
  std::vector<Program> subgraphs;
  std::vector<size_t> inputs;  ///< then the captured values of each subgraph
  std::vector<size_t> outputs;
  std::vector<int32_t> types;    ///< onnx types of outputs; 0: unknown
  std::vector<size_t> released;  ///< values last used by this step
};

struct Program {
  int64_t opset = 0;
  std::vector<OnnxTensorInfo> inputs;
  std::vector<OnnxTensorInfo> outputs;
  std::vector<size_t> input_values;
  std::vector<int32_t> input_types;  ///< onnx types
  std::vector<size_t> output_values;
  /// Values of the outer graph that the last of `input_values` receive.
  std::vector<size_t> captured;
  std::vector<Tensor> constants;  ///< by value; empty for node outputs
  std::vector<PreparedNode> steps;
};

/// REQUIRES: check_onnx() has passed. Throws: UnsupportedError listing all
/// operators and element types that are not supported; FormatError.
Program program_of(onnx::ModelProto model);

/// Returns the outputs, which share no memory with the inputs or the program.
/// REQUIRES: check_inputs() and check_limits() have passed. Throws: FormatError
/// naming the node that fails or exceeds a limit.
Values run(const Program& program, std::span<const Tensor> inputs,
           const FileLimits& limits);

/// Runs the steps for all `input_values`. Returns the outputs, retained in the
/// budget. Throws: FormatError.
Values run_steps(const Program& program, std::span<const Tensor> inputs,
                 Budget& budget);

/// Throws: ValueError for a wrong number of tensors or a wrong type;
/// ShapeError for another shape.
void check_inputs(const Program& program, std::span<const Tensor> inputs);

}  // namespace octet::io::run
