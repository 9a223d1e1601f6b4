#include "graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"

namespace octet::io::layout {
namespace {

/// Returns the sizes of a type; an unknown first size is the batch size.
std::optional<std::vector<Dim>> dims_of(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) {
    return std::nullopt;
  }
  std::vector<Dim> dims;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (dim.has_dim_value()) {
      if (dim.dim_value() < 1) return std::nullopt;
      dims.push_back({dim.dim_value(), false});
    } else if (dims.empty()) {
      dims.push_back({1, true});
    } else {
      return std::nullopt;
    }
  }
  return dims;
}

std::vector<Dim> dims_of(const onnx::TensorProto& tensor) {
  std::vector<Dim> dims;
  for (const int64_t size : tensor.dims()) dims.push_back({size, false});
  return dims;
}

bool is_reshape(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  return op == "Reshape" || op == "Flatten" || op == "Squeeze" ||
         op == "Unsqueeze";
}

std::optional<AxisLayout> after(const AxisLayout& layout, const Step& step) {
  if (const auto* perm = std::get_if<std::vector<int>>(&step)) {
    return layout.transposed(*perm);
  }
  return layout.reshaped(std::get<std::vector<Dim>>(step));
}

}  // namespace

Graph::Graph(const onnx::ModelProto& model)
    : proto_(model.graph()), opset_(opset_of(model)) {
  lookup_.dims = [this](const std::string& name) {
    const auto& dims = values_[name].dims;
    return dims ? &*dims : nullptr;
  };
  lookup_.constant = [this](const std::string& name) {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
  };
  lookup_.producer = [this](const std::string& name) {
    const auto found = values_.find(name);
    const int producer = found == values_.end() ? -1 : found->second.producer;
    return producer < 0
               ? nullptr
               : &proto_.node(nodes_[static_cast<size_t>(producer)].index);
  };
  for (const auto& info : proto_.value_info()) add_value(info);
  for (const auto& info : proto_.input()) add_value(info);
  for (const auto& info : proto_.output()) add_value(info);
  for (const auto& tensor : proto_.initializer()) {
    constants_[tensor.name()] = &tensor;
    values_[tensor.name()] = {.dims = dims_of(tensor), .is_constant = true};
  }
  for (int i = 0; i < proto_.node_size(); ++i) add_node(i);
  for (const auto& output : proto_.output()) {
    append({.inputs = {operand(output.name())}});
  }
}

void Graph::add_value(const onnx::ValueInfoProto& info) {
  values_[info.name()].dims = dims_of(info.type());
}

Operand Graph::operand(const std::string& input) const {
  const auto found = moved_.find(input);
  return found == moved_.end() ? Operand{.root = input} : found->second;
}

std::optional<Step> Graph::step(const onnx::NodeProto& node) const {
  if (node.op_type() == "Transpose") {
    const onnx::AttributeProto* perm = find_attribute(node, "perm");
    if (perm == nullptr) return std::nullopt;
    return std::vector<int>(perm->ints().begin(), perm->ints().end());
  }
  if (!is_reshape(node)) return std::nullopt;
  if (node.input_size() > 1 && !constants_.contains(node.input(1))) {
    return std::nullopt;
  }
  const auto& dims = values_.at(node.output(0)).dims;
  if (!dims) return std::nullopt;
  return *dims;
}

void Graph::add_node(int index) {
  const onnx::NodeProto& node = proto_.node(index);
  for (const auto& output : node.output()) values_.try_emplace(output);
  if (std::optional<Step> moved = step(node)) {
    Operand result = operand(node.input(0));
    result.steps.push_back(std::move(*moved));
    result.movements.push_back(index);
    if (layout(result, {})) {
      moved_.emplace(node.output(0), std::move(result));
      return;
    }
  }
  Node result{.index = index};
  for (const auto& input : node.input())
    result.inputs.push_back(operand(input));
  const bool outputs_known =
      std::ranges::all_of(node.output(), [this](const std::string& name) {
        return values_.at(name).dims.has_value();
      });
  if (outputs_known) result.rule = rule_of(node, lookup_, opset_);
  for (const auto& output : node.output()) {
    values_[output].producer = static_cast<int>(nodes_.size());
  }
  append(std::move(result));
}

void Graph::append(Node node) {
  const int number = static_cast<int>(nodes_.size());
  if (node.rule) {
    const auto rank = static_cast<size_t>(node.rule->rank);
    for (const int input : node.rule->inputs) {
      Operand& operand = node.inputs[static_cast<size_t>(input)];
      const std::optional<AxisLayout> own = layout(operand, {});
      if (!own) {
        node.rule.reset();
        break;
      }
      std::vector<Dim> dims = own->dims();
      if (dims.size() == rank) continue;
      dims.insert(dims.begin(), rank - dims.size(), Dim());
      operand.steps.emplace_back(std::move(dims));
    }
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    values_[node.inputs[i].root].uses.emplace_back(number, static_cast<int>(i));
  }
  nodes_.push_back(std::move(node));
}

Order Graph::stored_order(const std::string& value) const {
  const Value& own = values_.at(value);
  if (own.producer < 0) return {};
  const Node& node = nodes_[static_cast<size_t>(own.producer)];
  if (node.order.empty()) return {};
  return node.rule->output_order(node.order);
}

std::optional<AxisLayout> Graph::layout(const Operand& operand,
                                        const Order& stored) const {
  const auto& dims = values_.at(operand.root).dims;
  if (!dims) return std::nullopt;
  std::optional<AxisLayout> result = AxisLayout(*dims, stored);
  for (const Step& step : operand.steps) {
    result = after(*result, step);
    if (!result) break;
  }
  return result;
}

std::optional<AxisLayout> Graph::layout(const Node& node, size_t input) const {
  const Operand& operand = node.inputs[input];
  std::optional<AxisLayout> result =
      layout(operand, stored_order(operand.root));
  if (!result || node.order.empty()) return result;
  const auto& permuted = node.rule->inputs;
  if (std::ranges::find(permuted, static_cast<int>(input)) == permuted.end()) {
    return result;
  }
  return result->transposed(node.order);
}

}  // namespace octet::io::layout
