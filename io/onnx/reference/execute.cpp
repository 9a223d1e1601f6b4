// Execution of a program, node by node.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "constants.h"
#include "control_flow.h"
#include "onnx/check/proto_limits.h"
#include "precision.h"
#include "program.h"

namespace octet::io::run {
namespace {

Values run_step(const PreparedNode& step, int64_t opset,
                const std::vector<Tensor>& values, Budget& budget) {
  std::vector<Tensor> inputs;
  inputs.reserve(step.inputs.size());
  for (const size_t value : step.inputs) {
    inputs.push_back(value == kNoValue ? Tensor() : values[value]);
  }
  const NodeContext context(step.node, opset, inputs, budget);
  context.check_time();
  try {
    Values made = step.subgraphs.empty() ? step.run(context)
                                         : run_subgraphs(step, context);
    for (size_t i = 0; i < made.size() && i < step.types.size(); ++i) {
      if (is_short_float(step.types[i])) {
        made[i] = rounded_to(context, step.types[i], made[i]);
      }
    }
    return made;
  } catch (const ShapeError& error) {
    context.refuse(error.message());
  } catch (const ValueError& error) {  // unsupported type
    context.refuse(error.message());
  }
}

/// Returns likely causes of a wrong shape, or "".
std::string hint(const OnnxTensorInfo& input, const Tensor& x) {
  std::vector<int64_t> dims;
  for (const OnnxDim& dim : input.shape.value()) {
    const auto* size = std::get_if<int64_t>(&dim);
    dims.push_back(size == nullptr ? Shape::kAnySize : *size);
  }
  if (dims.size() > Shape::kMaxRank) return "";
  return shape_hint(x.shape(), Shape(std::span<const int64_t>(dims)));
}

[[noreturn]] void refuse_outputs(const FileLimits& limits) {
  throw FormatError("memory_limit", "ONNX model",
                    fmt::format("outputs and the values they are copied from "
                                "exceed {} MiB. Hint: run fewer samples at a "
                                "time, or raise FileLimits.memory_limit ("
                                "--memory-limit)",
                                limits.memory_limit >> 20));
}

[[noreturn]] void refuse_shape(const OnnxTensorInfo& input, const Tensor& x,
                               const std::string& reason) {
  throw ShapeError(
      "shape_mismatch", fmt::format("input '{}'", input.name),
      fmt::format("must have shape {}, got {}{}", to_string(input.shape),
                  x.shape().to_string(), reason));
}

// `sizes` are the known sizes of dynamic dimensions, by name.
void check_shape(const OnnxTensorInfo& input, const Tensor& x,
                 std::map<std::string, int64_t>& sizes) {
  if (!input.shape) return;
  const auto dims = x.shape().dims();
  if (dims.size() != input.shape->size()) {
    refuse_shape(input, x, hint(input, x));
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    const OnnxDim& dim = (*input.shape)[d];
    if (const auto* size = std::get_if<int64_t>(&dim)) {
      if (*size != dims[d]) refuse_shape(input, x, hint(input, x));
      continue;
    }
    const auto& name = std::get<std::string>(dim);
    if (name == "?") continue;
    const int64_t before = sizes.emplace(name, dims[d]).first->second;
    if (before != dims[d]) {
      refuse_shape(input, x, fmt::format("; {} is {} elsewhere", name, before));
    }
  }
}

std::string expected_type(const Program& program, size_t input) {
  const std::string& type = program.inputs[input].type;
  return is_short_float(program.input_types[input])
             ? fmt::format("float32, which represents {}", type)
             : type;
}

// Rounds an input to the model's type.
Tensor rounded_input(const Tensor& x, int32_t type) {
  if (!is_short_float(type)) return x;
  Tensor y = x.clone();
  for (float& value : y.f32()) value = rounded_to(type, value);
  return y;
}

}  // namespace

void check_inputs(const Program& program, std::span<const Tensor> inputs) {
  if (inputs.size() != program.inputs.size()) {
    throw ValueError("count_mismatch", "ONNX model",
                     fmt::format("needs {} inputs, got {}",
                                 program.inputs.size(), inputs.size()));
  }
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const OnnxTensorInfo& expected = program.inputs[i];
    if (inputs[i].empty()) {
      throw ValueError("missing_value",
                       fmt::format("input '{}'", expected.name),
                       "must be a tensor, got none");
    }
    if (inputs[i].dtype() != dtype_of(program.input_types[i])) {
      throw ValueError(
          "dtype_mismatch", fmt::format("input '{}'", expected.name),
          fmt::format("must be {}, got {}", expected_type(program, i),
                      type_name(inputs[i].dtype())));
    }
    check_shape(expected, inputs[i], sizes);
  }
}

Values run_steps(const Program& program, std::span<const Tensor> inputs,
                 Budget& budget) {
  std::vector<Tensor> values = program.constants;
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[program.input_values[i]] = inputs[i];
  }
  for (const PreparedNode& step : program.steps) {
    Values made = run_step(step, program.opset, values, budget);
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] == kNoValue) continue;
      if (i >= made.size()) {
        throw UnsupportedError(
            "unsupported_operator", describe(step.node),
            fmt::format("only {} outputs are supported, but the node has {}",
                        made.size(), step.outputs.size()));
      }
      values[step.outputs[i]] = std::move(made[i]);
      budget.hold(values[step.outputs[i]]);
    }
    budget.settle();
    for (const size_t value : step.released) {
      budget.release(values[value]);
      values[value] = Tensor();
    }
  }
  Values outputs;
  for (const size_t value : program.output_values) {
    outputs.push_back(values[value]);
    budget.hold(outputs.back());
  }
  for (const PreparedNode& step : program.steps) {
    for (const size_t value : step.outputs) {
      if (value != kNoValue) budget.release(values[value]);
    }
  }
  return outputs;
}

Values run(const Program& program, std::span<const Tensor> inputs,
           const FileLimits& limits) {
  Budget budget(limits);
  Values rounded;
  for (size_t i = 0; i < inputs.size(); ++i) {
    rounded.push_back(rounded_input(inputs[i], program.input_types[i]));
  }
  Values outputs = run_steps(program, rounded, budget);
  for (Tensor& output : outputs) {
    if (!budget.take(output.bytes())) refuse_outputs(limits);
    output = output.clone();
  }
  return outputs;
}

}  // namespace octet::io::run
