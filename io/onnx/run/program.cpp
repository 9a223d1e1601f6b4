#include "program.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../doubles.h"
#include "../graph_view.h"
#include "../proto_limits.h"
#include "../schemas.h"
#include "../tensors.h"
#include "constants.h"
#include "precision.h"
#include "supported.h"

namespace octet::io::run {
namespace {

// The outputs of the branch that ran. Inputs: the condition, the outputs of the
// then branch, those of the else branch.
Values select_branch(const NodeContext& context) {
  const Tensor& condition = context.input(0);
  if (condition.dtype() != DType::boolean || condition.size() != 1) {
    context.refuse("condition must be a single bool");
  }
  const auto branches = context.inputs().subspan(1);
  const auto outputs = condition.data<bool>()[0]
                           ? branches.first(branches.size() / 2)
                           : branches.last(branches.size() / 2);
  return {outputs.begin(), outputs.end()};
}

// Numbers the values of a graph by name.
class Builder {
 public:
  Builder(Program& program, const GraphView& view)
      : program_(program), view_(&view) {}

  void add_constants(onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) {
      const size_t value = define(tensor.name());
      program_.constants[value] = constant(tensor);
      tensor.Clear();  // frees the second copy
    }
  }

  void add_input(const std::string& name) {
    program_.input_values.push_back(define(name));
    program_.input_types.push_back(view_->element_type(name));
  }

  void add(onnx::NodeProto& node) {
    if (node.op_type() == "Constant") {
      const size_t value = define(node.output(0));
      program_.constants[value] = constant(node);
      return;
    }
    if (is_if(node)) return add_if(node);
    PreparedNode step;
    step.conditions = conditions_;
    step.run = find_operator(node);
    for (const auto& name : node.input()) {
      step.inputs.push_back(name.empty() ? kNoValue : find(name, node));
    }
    for (const auto& name : node.output()) {
      step.outputs.push_back(name.empty() ? kNoValue : define(name));
      step.types.push_back(view_->element_type(name));
    }
    step.node.Swap(&node);
    program_.steps.push_back(std::move(step));
  }

  void add_output(const std::string& name) {
    program_.output_values.push_back(output_value(name));
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
      for (const auto& [value, truth] : program_.steps[s].conditions) {
        last[value] = s;
      }
    }
    for (const size_t value : program_.output_values) last[value] = kNoValue;
    for (size_t value = 0; value < last.size(); ++value) {
      if (last[value] == kNoValue) continue;
      program_.steps[last[value]].released.push_back(value);
    }
  }

 private:
  void add_if(onnx::NodeProto& node) {
    const auto branches =
        std::ranges::count_if(node.attribute(), [](const auto& attribute) {
          return attribute.name() == "then_branch" ||
                 attribute.name() == "else_branch";
        });
    if (node.input_size() != 1 || branches != 2) {
      throw FormatError("invalid_graph", describe(node),
                        fmt::format("must have an input and two branches, got "
                                    "{} and {}",
                                    node.input_size(), branches));
    }
    PreparedNode step;
    step.conditions = conditions_;
    step.run = select_branch;
    step.inputs.push_back(find(node.input(0), node));
    for (const bool truth : {true, false}) {
      const char* name = truth ? "then_branch" : "else_branch";
      for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.name() != name) continue;
        add_branch(node, *attribute.mutable_g(), {step.inputs[0], truth},
                   step.inputs);
      }
    }
    for (const auto& name : node.output()) {
      step.outputs.push_back(name.empty() ? kNoValue : define(name));
      step.types.push_back(view_->element_type(name));
    }
    node.clear_attribute();
    step.node.Swap(&node);
    program_.steps.push_back(std::move(step));
  }

  // Appends the values of its outputs to `outputs`.
  void add_branch(const onnx::NodeProto& node, onnx::GraphProto& branch,
                  std::pair<size_t, bool> condition,
                  std::vector<size_t>& outputs) {
    check_arity(branch, program_.opset);
    if (branch.output_size() != node.output_size()) {
      throw FormatError("invalid_graph", describe(node),
                        fmt::format("branches must have {} outputs, got {}",
                                    node.output_size(), branch.output_size()));
    }
    const GraphView view(branch);
    const GraphView* outer = std::exchange(view_, &view);
    scopes_.emplace_back();
    conditions_.push_back(condition);
    add_constants(branch);
    for (auto& inner : *branch.mutable_node()) add(inner);
    for (const auto& output : branch.output()) {
      outputs.push_back(output_value(output.name()));
    }
    conditions_.pop_back();
    scopes_.pop_back();
    view_ = outer;
  }

  size_t define(const std::string& name) {
    const size_t value = program_.constants.size();
    if (!scopes_.back().emplace(name, value).second) {
      throw FormatError("invalid_graph",
                        fmt::format("value '{}'", printable(name)),
                        "has several producers");
    }
    program_.constants.emplace_back();
    return value;
  }

  std::optional<size_t> find_value(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(name);
      if (found != scope->end()) return found->second;
    }
    return {};
  }

  size_t output_value(const std::string& name) const {
    if (const auto value = find_value(name)) return *value;
    throw FormatError("invalid_graph",
                      fmt::format("graph output '{}'", printable(name)),
                      "has no producer");
  }

  size_t find(const std::string& name, const onnx::NodeProto& node) const {
    if (const auto value = find_value(name)) return *value;
    throw FormatError("invalid_graph", describe(node),
                      fmt::format("input '{}' has no producer before this "
                                  "node",
                                  printable(name)));
  }

  Program& program_;
  const GraphView* view_;  // of the innermost graph
  std::vector<std::unordered_map<std::string, size_t>> scopes_{1};
  std::vector<std::pair<size_t, bool>> conditions_;
};

}  // namespace

Program program_of(onnx::ModelProto model) {
  onnx::GraphProto& graph = *model.mutable_graph();
  Program program;
  program.opset = opset_of(model);
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
