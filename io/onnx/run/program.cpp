#include "program.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../attention_operator.h"
#include "../doubles.h"
#include "../graph_view.h"
#include "../proto_limits.h"
#include "../tensors.h"
#include "constants.h"
#include "precision.h"
#include "supported.h"

namespace octet::io::run {
namespace {

// Numbers the values of a graph by name.
class Builder {
 public:
  Builder(Program& program, const GraphView& view)
      : program_(program), view_(view) {}

  void add_constants(onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) {
      const size_t value = define(tensor.name());
      program_.constants[value] = constant(tensor);
      tensor.Clear();  // frees the second copy
    }
  }

  void add_input(const std::string& name) {
    program_.input_values.push_back(define(name));
    program_.input_types.push_back(view_.element_type(name));
  }

  void add(onnx::NodeProto& node) {
    if (node.op_type() == "Constant") {
      const size_t value = define(node.output(0));
      program_.constants[value] = constant(node);
      return;
    }
    PreparedNode step;
    step.run = find_operator(node);
    for (const auto& name : node.input()) {
      step.inputs.push_back(name.empty() ? kNoValue : find(name, node));
    }
    for (const auto& name : node.output()) {
      step.outputs.push_back(name.empty() ? kNoValue : define(name));
      step.types.push_back(view_.element_type(name));
    }
    step.node.Swap(&node);
    program_.steps.push_back(std::move(step));
  }

  void add_output(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      throw FormatError("invalid_graph",
                        fmt::format("graph output '{}'", printable(name)),
                        "has no producer");
    }
    program_.output_values.push_back(found->second);
  }

  // Rounding requires the types of all values.
  void check_types() const {
    const auto rounds = [](const std::vector<int32_t>& types) {
      return std::ranges::any_of(types, is_short_float);
    };
    bool any = rounds(program_.input_types);
    const PreparedNode* open = nullptr;
    for (const PreparedNode& step : program_.steps) {
      any = any || rounds(step.types);
      const bool unknown =
          std::ranges::count(step.types, onnx::TensorProto::UNDEFINED) > 0;
      if (unknown && open == nullptr) open = &step;
    }
    if (!any || open == nullptr) return;
    throw UnsupportedError("unsupported_type", describe(open->node),
                           "types of its outputs must be known in a model with "
                           "float16");
  }

  // A value is released after its last consumer, or after its producer if it
  // has no consumer.
  void plan_releases() {
    std::vector<size_t> last(program_.constants.size(), kNoValue);
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      for (const auto* values :
           {&program_.steps[s].inputs, &program_.steps[s].outputs}) {
        for (const size_t value : *values) {
          if (value != kNoValue) last[value] = s;
        }
      }
    }
    for (const size_t value : program_.output_values) last[value] = kNoValue;
    for (size_t value = 0; value < last.size(); ++value) {
      if (last[value] == kNoValue) continue;
      program_.steps[last[value]].released.push_back(value);
    }
  }

 private:
  size_t define(const std::string& name) {
    const size_t value = program_.constants.size();
    if (!values_.emplace(name, value).second) {
      throw FormatError("invalid_graph",
                        fmt::format("value '{}'", printable(name)),
                        "has several producers");
    }
    program_.constants.emplace_back();
    return value;
  }

  size_t find(const std::string& name, const onnx::NodeProto& node) const {
    const auto found = values_.find(name);
    if (found == values_.end()) {
      throw FormatError("invalid_graph", describe(node),
                        fmt::format("input '{}' has no producer before this "
                                    "node",
                                    printable(name)));
    }
    return found->second;
  }

  Program& program_;
  const GraphView& view_;
  std::unordered_map<std::string, size_t> values_;
};

}  // namespace

Program program_of(onnx::ModelProto model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  Program program;
  program.opset = opset_of(model);
  expand_attention(graph, program.opset);
  narrow_doubles(graph);
  check_supported(graph, program.opset);
  const GraphView view(graph);
  program.inputs = view.inputs();
  program.outputs = view.outputs();
  Builder builder(program, view);
  for (const OnnxTensorInfo& input : program.inputs) {
    builder.add_input(input.name);
  }
  builder.add_constants(graph);
  for (auto& node : *graph.mutable_node()) builder.add(node);
  for (const OnnxTensorInfo& output : program.outputs) {
    builder.add_output(output.name);
  }
  builder.check_types();
  builder.plan_releases();
  return program;
}

}  // namespace octet::io::run
