#include "program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "constants.h"
#include "onnx/check/proto_limits.h"
#include "onnx/check/schemas.h"
#include "onnx/export/graph_passes.h"
#include "onnx/graph/tensors.h"
#include "onnx/normalize/subgraphs.h"
#include "precision.h"
#include "supported.h"

namespace octet::io::run {
namespace {

// Returns the outputs of the branch that ran. Inputs: the condition, the
// outputs of the then branch, the outputs of the else branch.
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

// A row for each iteration of a Loop.
Values stack_rows(const NodeContext& context) {
  const Tensor& first = context.input(0);
  Sizes dims = sizes_of(first);
  dims.insert(dims.begin(), std::ssize(context.inputs()));
  Tensor y = context.make(dims, first.dtype());
  auto* to = static_cast<char*>(y.raw());
  for (const Tensor& row : context.inputs()) {
    if (row.shape() != first.shape() || row.dtype() != first.dtype()) {
      context.refuse("outputs of all iterations must have the same shape");
    }
    const auto bytes = static_cast<size_t>(row.bytes());
    if (bytes > 0) std::memcpy(to, row.raw(), bytes);
    to += bytes;
  }
  return {y};
}

onnx::GraphProto* find_graph(onnx::NodeProto& node, const char* name) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) return attribute.mutable_g();
  }
  return nullptr;
}

bool is_truth(const Tensor& value) {
  return value.dtype() == DType::boolean && value.size() == 1 &&
         value.data<bool>()[0];
}

// Numbers the values of a graph by name.
class ProgramBuilder {
 public:
  ProgramBuilder(Program& program, const onnx::GraphProto& graph)
      : program_(program), types_(element_types(graph)) {}

  void add_constants(onnx::GraphProto& graph) {
    for (auto& tensor : *graph.mutable_initializer()) {
      const size_t value = define(tensor.name());
      program_.constants[value] = constant(tensor);
      tensor.Clear();  // frees the second copy
    }
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
    if (is_if(node)) return add_if(node);
    if (is_loop(node)) return add_loop(node);
    PreparedNode step;
    step.conditions = conditions_;
    step.run = find_operator(node);
    for (const auto& name : node.input()) {
      step.inputs.push_back(name.empty() ? kNoValue : find(name, node));
    }
    for (const auto& name : node.output()) {
      step.outputs.push_back(name.empty() ? kNoValue : define(name));
      step.types.push_back(type_of(name));
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
    onnx::GraphProto* then = find_graph(node, "then_branch");
    onnx::GraphProto* otherwise = find_graph(node, "else_branch");
    if (node.input_size() != 1 || then == nullptr || otherwise == nullptr) {
      throw FormatError("invalid_graph", describe(node),
                        fmt::format("must have two branches and an input, got "
                                    "{} inputs",
                                    node.input_size()));
    }
    PreparedNode step;
    step.conditions = conditions_;
    step.run = select_branch;
    step.inputs.push_back(find(node.input(0), node));
    add_branch(node, *then, {step.inputs[0], true}, step.inputs);
    add_branch(node, *otherwise, {step.inputs[0], false}, step.inputs);
    for (const auto& name : node.output()) {
      step.outputs.push_back(name.empty() ? kNoValue : define(name));
      step.types.push_back(type_of(name));
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
    ElementTypes outer = std::exchange(types_, element_types(branch));
    scopes_.emplace_back();
    conditions_.push_back(condition);
    add_constants(branch);
    for (auto& inner : *branch.mutable_node()) add(inner);
    for (const auto& output : branch.output()) {
      outputs.push_back(output_value(output.name()));
    }
    conditions_.pop_back();
    scopes_.pop_back();
    types_ = std::move(outer);
  }

  int32_t type_of(const std::string& name) const {
    const auto found = types_.find(name);
    return found == types_.end() ? 0 : found->second;
  }

  // Adds the nodes of all iterations.
  void add_loop(onnx::NodeProto& node) {
    onnx::GraphProto* body = find_graph(node, "body");
    const int carried = node.input_size() - 2;
    if (body == nullptr || carried < 0 || node.output_size() < carried ||
        body->input_size() != carried + 2 ||
        body->output_size() != node.output_size() + 1) {
      throw FormatError("invalid_graph", describe(node),
                        "body must have the inputs and outputs of the node");
    }
    check_arity(*body, program_.opset);
    const int64_t iterations = iterations_of(node, *body);
    std::vector<size_t> values;
    values.reserve(static_cast<size_t>(carried));
    for (int k = 0; k < carried; ++k) {
      values.push_back(find(node.input(k + 2), node));
    }
    std::vector<std::vector<size_t>> rows(
        static_cast<size_t>(node.output_size() - carried));
    ElementTypes outer = std::exchange(types_, element_types(*body));
    scopes_.emplace_back();
    add_constants(*body);
    for (int64_t i = 0; i < iterations; ++i) {
      scopes_.emplace_back();
      program_.constants[define(body->input(0).name())] =
          Tensor::of<int64_t>({}, {i});
      Tensor truth({}, DType::boolean);
      truth.data<bool>()[0] = true;
      program_.constants[define(body->input(1).name())] = truth;
      for (int k = 0; k < carried; ++k) {
        bind(body->input(k + 2).name(), values[static_cast<size_t>(k)]);
      }
      auto nodes = body->node();
      for (auto& inner : nodes) add(inner);
      for (int k = 0; k < node.output_size(); ++k) {
        const size_t value = output_value(body->output(k + 1).name());
        if (k < carried) {
          values[static_cast<size_t>(k)] = value;
        } else {
          rows[static_cast<size_t>(k - carried)].push_back(value);
        }
      }
      scopes_.pop_back();
    }
    scopes_.pop_back();
    types_ = std::move(outer);
    for (int k = 0; k < node.output_size(); ++k) {
      const std::string& name = node.output(k);
      if (name.empty()) continue;
      if (k < carried) {
        bind(name, values[static_cast<size_t>(k)]);
        continue;
      }
      PreparedNode step;
      step.conditions = conditions_;
      step.run = stack_rows;
      step.inputs = std::move(rows[static_cast<size_t>(k - carried)]);
      step.outputs.push_back(define(name));
      step.types.push_back(type_of(name));
      step.node.set_op_type(node.op_type());
      step.node.set_name(node.name());
      step.node.add_output(name);
      program_.steps.push_back(std::move(step));
    }
  }

  int64_t iterations_of(const onnx::NodeProto& node,
                        const onnx::GraphProto& body) const {
    const auto constant_of = [&](int input) {
      const std::string& name = node.input(input);
      return name.empty() ? Tensor() : program_.constants[find(name, node)];
    };
    const Tensor count = constant_of(0), condition = constant_of(1);
    const bool is_counted =
        !count.empty() && count.dtype() == DType::i64 && count.size() == 1;
    const bool continues =
        importing::keeps_condition(body, [&](const std::string& name) {
          const auto value = find_value(name);
          return value && is_truth(program_.constants[*value]);
        });
    if (!is_counted || !continues ||
        (!node.input(1).empty() && !is_truth(condition))) {
      throw UnsupportedError(
          "unsupported_operator", describe(node),
          "trip count must be a constant and the condition true");
    }
    const int64_t iterations = std::max<int64_t>(count.data<int64_t>()[0], 0);
    const bool stacks = node.output_size() > node.input_size() - 2;
    if (iterations > importing::kMostUnrolled / std::max(body.node_size(), 1) ||
        (iterations == 0 && stacks)) {
      throw UnsupportedError(
          "unsupported_operator", describe(node),
          fmt::format("iterations must have at most {} nodes in all, and "
                      "stacked outputs an iteration, got {} iterations of {} "
                      "nodes",
                      importing::kMostUnrolled, iterations, body.node_size()));
    }
    return iterations;
  }

  void bind(const std::string& name, size_t value) {
    if (scopes_.back().emplace(name, value).second) return;
    throw FormatError("invalid_graph",
                      fmt::format("value '{}'", printable(name)),
                      "has several producers");
  }

  size_t define(const std::string& name) {
    bind(name, program_.constants.size());
    program_.constants.emplace_back();
    return program_.constants.size() - 1;
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
  ElementTypes types_;  // of the innermost graph
  std::vector<std::unordered_map<std::string, size_t>> scopes_{1};
  std::vector<std::pair<size_t, bool>> conditions_;
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
