#include "program.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "constants.h"
#include "control_flow.h"
#include "onnx/check/proto_limits.h"
#include "onnx/check/schemas.h"
#include "onnx/export/graph_passes.h"
#include "onnx/graph/tensors.h"
#include "precision.h"
#include "supported.h"

namespace octet::io::run {
namespace {

using ElementTypes = std::unordered_map<std::string, int32_t>;

// Returns the types of the values of a graph, without values of subgraphs.
ElementTypes element_types(const onnx::GraphProto& graph) {
  ElementTypes types;
  for (const auto* values :
       {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *values) {
      types[value.name()] = value.type().tensor_type().elem_type();
    }
  }
  return types;
}

onnx::GraphProto* find_graph(onnx::NodeProto& node, std::string_view name) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name && attribute.has_g())
      return attribute.mutable_g();
  }
  return nullptr;
}

bool rounds(const std::vector<int32_t>& types) {
  return std::ranges::any_of(types, is_short_float);
}

bool rounds(const Program& program) {
  return rounds(program.input_types) ||
         std::ranges::any_of(program.steps, [](const PreparedNode& step) {
           return rounds(step.types) ||
                  std::ranges::any_of(step.subgraphs, [](const Program& inner) {
                    return rounds(inner);
                  });
         });
}

/// Rounding requires the types of all values.
void check_types(const Program& program) {
  for (const PreparedNode& step : program.steps) {
    if (std::ranges::count(step.types, onnx::TensorProto::UNDEFINED) > 0) {
      throw UnsupportedError("unsupported_type", describe(step.node),
                             "types of its outputs must be known in a model "
                             "with float16");
    }
    std::ranges::for_each(step.subgraphs, check_types);
  }
}

/// Numbers the values of a graph by name.
class ProgramBuilder {
 public:
  ProgramBuilder(Program& program, const onnx::GraphProto& graph,
                 ProgramBuilder* outer = nullptr)
      : program_(program), types_(element_types(graph)), outer_(outer) {}

  void add_nodes(onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) {
      const size_t value = define(tensor.name());
      program_.constants[value] = constant(tensor);
      tensor.Clear();  // frees the second copy
    }
    for (auto& node : *graph.mutable_node()) add(node);
  }

  void add_input(const std::string& name) {
    program_.input_values.push_back(define(name));
    program_.input_types.push_back(type_of(name));
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
    for (const std::string_view name : subgraphs_of(node)) {
      step.subgraphs.push_back(subgraph(node, name));
      const std::vector<size_t>& captured = step.subgraphs.back().captured;
      step.inputs.insert(step.inputs.end(), captured.begin(), captured.end());
    }
    for (const auto& name : node.output()) {
      step.outputs.push_back(name.empty() ? kNoValue : define(name));
      step.types.push_back(type_of(name));
    }
    step.node.Swap(&node);
    if (!step.subgraphs.empty()) check_subgraphs(step);
    program_.steps.push_back(std::move(step));
  }

  void add_output(const std::string& name) {
    program_.output_values.push_back(output_value(name));
  }

  // The output of a step is released after its last consumer, or after the step
  // if it has no consumer.
  void plan_releases() {
    std::vector<size_t> last(program_.constants.size(), kNoValue);
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      for (const size_t value : program_.steps[s].outputs) {
        if (value != kNoValue) last[value] = s;
      }
      for (const size_t value : program_.steps[s].inputs) {
        if (value != kNoValue && last[value] != kNoValue) last[value] = s;
      }
    }
    for (const size_t value : program_.output_values) last[value] = kNoValue;
    for (size_t value = 0; value < last.size(); ++value) {
      if (last[value] == kNoValue) continue;
      program_.steps[last[value]].released.push_back(value);
    }
  }

 private:
  // Prepares a graph of a node.
  Program subgraph(onnx::NodeProto& node, std::string_view name) {
    onnx::GraphProto* graph = find_graph(node, name);
    if (graph == nullptr) {
      throw FormatError("invalid_graph", describe(node),
                        fmt::format("must have a graph '{}'", name));
    }
    check_arity(*graph, program_.opset);
    Program program;
    program.opset = program_.opset;
    ProgramBuilder builder(program, *graph, this);
    for (const auto& input : graph->input()) builder.add_input(input.name());
    builder.add_nodes(*graph);
    for (const auto& output : graph->output()) {
      builder.add_output(output.name());
    }
    program.input_values.insert(program.input_values.end(),
                                builder.inner_.begin(), builder.inner_.end());
    builder.plan_releases();
    return program;
  }

  int32_t type_of(const std::string& name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? 0 : found->second;
  }

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

  // Captures values of the outer graph.
  std::optional<size_t> find_value(const std::string& name) {
    for (const auto* values : {&values_, &captured_}) {
      const auto found = values->find(name);
      if (found != values->end()) return found->second;
    }
    const auto value =
        outer_ == nullptr ? std::nullopt : outer_->find_value(name);
    if (!value) return {};
    program_.captured.push_back(*value);
    inner_.push_back(program_.constants.size());
    captured_.emplace(name, inner_.back());
    program_.constants.emplace_back();
    return inner_.back();
  }

  size_t output_value(const std::string& name) {
    if (const auto value = find_value(name)) return *value;
    throw FormatError("invalid_graph",
                      fmt::format("graph output '{}'", printable(name)),
                      "has no producer");
  }

  size_t find(const std::string& name, const onnx::NodeProto& node) {
    if (const auto value = find_value(name)) return *value;
    throw FormatError("invalid_graph", describe(node),
                      fmt::format("input '{}' has no producer before this "
                                  "node",
                                  printable(name)));
  }

  Program& program_;
  ElementTypes types_;
  ProgramBuilder* outer_;
  std::unordered_map<std::string, size_t> values_;
  std::unordered_map<std::string, size_t> captured_;  // outer values, by name
  std::vector<size_t> inner_;                         // captured values
};

}  // namespace

Program program_of(onnx::ModelProto model) {
  static constexpr std::array kPasses{GraphPass{"doubles", narrow_doubles}};
  OnnxGraph checked_graph(std::move(model));
  run_passes(checked_graph, "pass", kPasses);
  Program program;
  program.opset = checked_graph.opset();
  program.inputs = checked_graph.inputs();
  program.outputs = checked_graph.outputs();
  model = std::move(checked_graph).to_model();
  onnx::GraphProto& graph = *model.mutable_graph();
  check_supported(graph, program.opset);
  ProgramBuilder builder(program, graph);
  for (const OnnxTensorInfo& input : program.inputs) {
    builder.add_input(input.name);
  }
  builder.add_nodes(graph);
  for (const OnnxTensorInfo& output : program.outputs) {
    builder.add_output(output.name);
  }
  if (rounds(program)) check_types(program);
  builder.plan_releases();
  return program;
}

}  // namespace octet::io::run
