#include "subgraphs.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "onnx/check/schemas.h"
#include "onnx/graph/attributes.h"
#include "onnx/graph/opsets.h"
#include "onnx/graph/tensors.h"
#include "onnx/reference/constants.h"
#include "passes.h"
#include "spelling.h"

namespace octet::io::importing {
namespace {

/// Largest number of nodes of all iterations of a Loop.
constexpr int64_t kMostUnrolled = 10'000;

/// Names of inner values and their names in the outer graph.
using Names = std::unordered_map<std::string, std::string>;

const onnx::GraphProto* subgraph_of(const onnx::NodeProto& node,
                                    const char* name) {
  const auto* attribute = find_attribute(node, name);
  return attribute == nullptr || !attribute->has_g() ? nullptr
                                                     : &attribute->g();
}

std::optional<bool> truth_of(const OnnxGraph& graph, const std::string& value) {
  const OnnxConstant* constant = graph.constant(value);
  if (constant == nullptr || constant->value.dtype() != DType::boolean ||
      constant->value.size() != 1 || constant->depends_on_batch()) {
    return {};
  }
  return std::as_const(constant->value).data<bool>()[0];
}

void rename(std::string& value, const Names& names) {
  const auto found = names.find(value);
  if (found != names.end()) value = found->second;
}

/// Renames the outer values that subgraphs of a node use.
void rename_captured(onnx::NodeProto& node, const Names& names) {
  const auto rename_graph = [&](onnx::GraphProto& graph) {
    Names outer = names;
    for (const auto& input : graph.input()) outer.erase(input.name());
    for (const auto& tensor : graph.initializer()) outer.erase(tensor.name());
    for (const auto& inner : graph.node()) {
      for (const auto& output : inner.output()) outer.erase(output);
    }
    for (auto& inner : *graph.mutable_node()) {
      for (auto& input : *inner.mutable_input()) rename(input, outer);
      rename_captured(inner, outer);
    }
    for (auto& output : *graph.mutable_output()) {
      rename(*output.mutable_name(), outer);
    }
  };
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) rename_graph(*attribute.mutable_g());
    for (auto& graph : *attribute.mutable_graphs()) rename_graph(graph);
  }
}

/// Returns why the nodes of a subgraph cannot become nodes of the graph.
std::string refusal_of(const onnx::GraphProto& body) {
  if (body.sparse_initializer_size() > 0) {
    return "sparse constants in subgraphs are not supported";
  }
  for (const auto& node : body.node()) {
    if (node.op_type() == "QuantizeLinear" ||
        node.op_type() == "DequantizeLinear") {
      return "Q/DQ in subgraphs is not supported";
    }
  }
  return {};
}

/// Inserts the nodes of subgraphs behind a node.
class Splice {
 public:
  Splice(OnnxGraph& graph, OnnxNode& node)
      : graph_(graph), node_(node), last_(&node) {}

  void add_constants(const onnx::GraphProto& body, Names& names) {
    for (const auto& tensor : body.initializer()) {
      graph_.add_initializer(define(tensor.name(), names), tensor);
    }
  }

  /// Inserts the nodes of `body`, whose inputs and constants have `names` in
  /// the graph. Returns the names of its outputs in the graph.
  std::vector<std::string> insert(const onnx::GraphProto& body, Names names) {
    for (const auto& inner : body.node()) {
      onnx::NodeProto proto = inner;
      for (auto& input : *proto.mutable_input()) rename(input, names);
      rename_captured(proto, names);
      for (auto& output : *proto.mutable_output()) {
        if (!output.empty()) output = define(output, names);
      }
      insert(std::move(proto));
    }
    std::vector<std::string> outputs;
    for (const auto& output : body.output()) {
      outputs.push_back(output.name());
      rename(outputs.back(), names);
    }
    return outputs;
  }

  void insert(onnx::NodeProto proto) {
    last_ = &graph_.insert_after(*last_, std::move(proto), node_.origin);
    normalize_node(graph_, *last_);
  }

 private:
  std::string define(const std::string& value, Names& names) {
    return names[value] =
               graph_.unique_name(node_.proto.output(0) + "/" + value);
  }

  OnnxGraph& graph_;
  OnnxNode& node_;
  OnnxNode* last_;
};

/// Returns a branch of an If, or null unless it has the node's outputs.
const onnx::GraphProto* branch_of(const onnx::NodeProto& node, bool condition) {
  const auto* branch =
      subgraph_of(node, condition ? "then_branch" : "else_branch");
  const bool fits = node.input_size() == 1 && node.output_size() > 0 &&
                    branch != nullptr &&
                    branch->output_size() >= node.output_size();
  return fits ? branch : nullptr;
}

/// Inserts the nodes of a branch. Returns the names of its outputs.
std::vector<std::string> insert_branch(OnnxGraph& graph, Splice& splice,
                                       const onnx::GraphProto& branch) {
  check_arity(branch, graph.opset());
  Names constants;
  splice.add_constants(branch, constants);
  return splice.insert(branch, std::move(constants));
}

std::string inline_branch(OnnxGraph& graph, OnnxNode& node) {
  if (node.proto.input_size() != 1) return "must have an input";
  const auto condition = truth_of(graph, node.proto.input(0));
  if (!condition) return "condition must be a constant, got a computed value";
  const auto* branch = branch_of(node.proto, *condition);
  if (branch == nullptr) return "branches must have the node's outputs";
  if (std::string refusal = refusal_of(*branch); !refusal.empty()) {
    return refusal;
  }
  Splice splice(graph, node);
  const std::vector<std::string> outputs =
      insert_branch(graph, splice, *branch);
  for (int i = 0; i < node.proto.output_size(); ++i) {
    if (node.proto.output(i).empty()) continue;
    splice.insert(node_of("Identity", {outputs[static_cast<size_t>(i)]},
                          node.proto.output(i)));
  }
  graph.remove(node, *condition ? "then branch" : "else branch");
  return {};
}

/// Whether the type states all sizes.
bool has_known_sizes(const onnx::TypeProto& type) {
  return type.tensor_type().has_shape() &&
         std::ranges::all_of(
             type.tensor_type().shape().dim(),
             [](const auto& dim) { return dim.has_dim_value(); });
}

bool is_true(const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::BOOL ||
      element_count(tensor) != 1) {
    return false;
  }
  const Tensor value = run::constant(tensor);
  return value.data<bool>()[0];
}

/// Whether the body of a Loop returns its condition unchanged, or true.
bool keeps_condition(const OnnxGraph& outer, const onnx::GraphProto& body) {
  std::string value = body.output(0).name();
  for (int i = body.node_size(); i-- > 0;) {
    const auto& node = body.node(i);
    if (node.output_size() == 0 || node.output(0) != value) continue;
    if (node.op_type() == "Constant") {
      const auto* constant = find_attribute(node, "value");
      return constant != nullptr && is_true(constant->t());
    }
    if (node.op_type() != "Identity" && node.op_type() != "Cast") return false;
    value = node.input(0);
  }
  for (const auto& tensor : body.initializer()) {
    if (tensor.name() == value) return is_true(tensor);
  }
  return value == body.input(1).name() || truth_of(outer, value) == true;
}

/// Returns the number of iterations, or nothing if it depends on values.
std::optional<int64_t> iterations_of(const OnnxGraph& graph,
                                     const onnx::NodeProto& loop,
                                     const onnx::GraphProto& body) {
  const OnnxConstant* trips = graph.constant(loop.input(0));
  const bool conditional = !loop.input(1).empty();
  const auto condition = truth_of(graph, loop.input(1));
  if (conditional && condition == false) return 0;
  if (trips == nullptr || trips->value.dtype() != DType::i64 ||
      trips->value.size() != 1 || trips->depends_on_batch() ||
      (conditional && !condition) || !keeps_condition(graph, body)) {
    return {};
  }
  return std::max<int64_t>(std::as_const(trips->value).data<int64_t>()[0], 0);
}

/// Inserts the stack of a value of each iteration.
void insert_stack(OnnxGraph& graph, Splice& splice,
                  const std::vector<std::string>& values,
                  const std::string& output) {
  onnx::NodeProto concat = node_of("Concat", {}, output);
  set_integer(concat, "axis", 0);
  for (const std::string& value : values) {
    onnx::NodeProto row =
        node_of("Unsqueeze", {value}, graph.unique_name(output + "/row"));
    if (graph.opset() < axes_as_input_since("Unsqueeze")) {
      set_integers(row, "axes", {0});
    } else {
      row.add_input(add_integers(graph, output + "/axis", {0}));
    }
    concat.add_input(row.output(0));
    splice.insert(std::move(row));
  }
  splice.insert(std::move(concat));
}

std::string unroll(OnnxGraph& graph, OnnxNode& node) {
  const onnx::NodeProto& loop = node.proto;
  const auto* body = subgraph_of(loop, "body");
  const int carried = loop.input_size() - 2;
  const int stacked = loop.output_size() - carried;
  if (body == nullptr || carried < 0 || stacked < 0 ||
      loop.output_size() == 0 || body->input_size() != carried + 2 ||
      body->output_size() != loop.output_size() + 1) {
    return "body must have the inputs and outputs of the node";
  }
  const auto iterations = iterations_of(graph, loop, *body);
  if (!iterations) {
    return "trip count must be a constant and the condition true, got computed "
           "values";
  }
  const int64_t size =
      std::max(body->node_size() + body->initializer_size(), 1);
  if (*iterations > kMostUnrolled / size) {
    return fmt::format(
        "must have at most {} nodes and constants in all iterations, got {} "
        "iterations of {}",
        kMostUnrolled, *iterations, size);
  }
  if (std::string refusal = refusal_of(*body); !refusal.empty()) {
    return refusal;
  }
  if (*iterations == 0 && stacked > 0) {
    return "stacked outputs must have iterations, got 0";
  }
  check_arity(*body, graph.opset());
  Splice splice(graph, node);
  std::vector<std::string> values(loop.input().begin() + 2, loop.input().end());
  std::vector<std::vector<std::string>> stacks(static_cast<size_t>(stacked));
  Tensor yes({}, DType::boolean);
  yes.data<bool>()[0] = true;
  const std::string truth =
      graph.add_constant(loop.output(0) + "/condition", yes);
  Names constants;
  splice.add_constants(*body, constants);
  for (int64_t i = 0; i < *iterations; ++i) {
    const std::string number =
        graph.add_constant(fmt::format("{}/iteration_{}", loop.output(0), i),
                           Tensor::of<int64_t>({}, {i}));
    Names names = constants;
    names[body->input(0).name()] = number;
    names[body->input(1).name()] = truth;
    for (size_t k = 0; k < values.size(); ++k) {
      names[body->input(static_cast<int>(k) + 2).name()] = values[k];
    }
    const auto outputs = splice.insert(*body, std::move(names));
    const auto first_stacked = outputs.begin() + 1 + carried;
    values.assign(outputs.begin() + 1, first_stacked);
    for (size_t k = 0; k < stacks.size(); ++k) {
      stacks[k].push_back(first_stacked[static_cast<std::ptrdiff_t>(k)]);
    }
  }
  for (int k = 0; k < carried; ++k) {
    if (loop.output(k).empty()) continue;
    splice.insert(
        node_of("Identity", {values[static_cast<size_t>(k)]}, loop.output(k)));
  }
  for (int k = 0; k < stacked; ++k) {
    const std::string& output = loop.output(carried + k);
    if (output.empty() || graph.uses(output) == 0) continue;
    insert_stack(graph, splice, stacks[static_cast<size_t>(k)], output);
  }
  graph.remove(node, "unrolled");
  return {};
}

}  // namespace

std::string select_branch(OnnxGraph& graph, OnnxNode& node) {
  const auto* then = branch_of(node.proto, true);
  const auto* otherwise = branch_of(node.proto, false);
  if (then == nullptr || otherwise == nullptr) {
    return "branches must have the node's outputs";
  }
  for (const auto* branch : {then, otherwise}) {
    if (std::string refusal = refusal_of(*branch); !refusal.empty()) {
      return refusal;
    }
  }
  for (int i = 0; i < node.proto.output_size(); ++i) {
    const auto& type = then->output(i).type();
    if (!has_known_sizes(type) ||
        type.SerializeAsString() !=
            otherwise->output(i).type().SerializeAsString()) {
      return "condition must be a constant, got a computed value, or both "
             "branches must state outputs of the same sizes";
    }
  }
  Splice splice(graph, node);
  const auto yes = insert_branch(graph, splice, *then);
  const auto no = insert_branch(graph, splice, *otherwise);
  for (int i = 0; i < node.proto.output_size(); ++i) {
    if (node.proto.output(i).empty()) continue;
    const auto at = static_cast<size_t>(i);
    splice.insert(node_of("Where", {node.proto.input(0), yes[at], no[at]},
                          node.proto.output(i)));
  }
  graph.remove(node, "both branches");
  return {};
}

bool has_subgraph_to_inline(const OnnxNode& node) {
  return is_op(node, "If") || is_op(node, "Loop");
}

std::string inline_subgraph(OnnxGraph& graph, OnnxNode& node) {
  return is_op(node, "If") ? inline_branch(graph, node) : unroll(graph, node);
}

}  // namespace octet::io::importing
