#include "graph.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "onnx/graph/operator_traits.h"
#include "onnx/graph/qdq.h"

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

/// Sizes of a matrix with its features as separate axes.
std::vector<Dim> separate(const std::vector<Dim>& dims,
                          const std::vector<Dim>& features) {
  std::vector<Dim> result{dims[0]};
  if (dims[1].is_one()) {
    result.resize(1 + features.size());  // broadcast
  } else {
    result.insert(result.end(), features.begin(), features.end());
  }
  return result;
}

}  // namespace

LayoutGraph::LayoutGraph(const onnx::ModelProto& model)
    : proto_(model.graph()), opset_(opset_of(model)) {
  lookup_.dims = [this](const std::string& name) {
    const auto& dims = values_[name].dims;
    return dims ? &*dims : nullptr;
  };
  lookup_.constant = [this](const std::string& name) {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
  };
  lookup_.weight = [this](const std::string& name) {
    const auto moved = moved_.find(name);
    const bool quantized = moved != moved_.end() && moved->second.steps.empty();
    return lookup_.constant(quantized ? moved->second.root : name);
  };
  lookup_.producer = [this](const std::string& name) {
    const auto found = values_.find(name);
    const int producer = found == values_.end() ? -1 : found->second.producer;
    const int index =
        producer < 0 ? -1 : nodes_[static_cast<size_t>(producer)].index;
    return index < 0 ? nullptr : &proto_.node(index);
  };
  for (const auto& node : proto_.node()) {
    if (traits_of(node.op_type()).axes == AxisRole::channels_first ||
        node.op_type() == "BatchNormalization") {
      channel_inputs_.insert(node.input(0));
    }
  }
  for (const auto& info : proto_.value_info()) add_value(info);
  for (const auto& info : proto_.input()) add_value(info);
  for (const auto& info : proto_.output()) add_value(info);
  for (const auto& tensor : proto_.initializer()) {
    constants_[tensor.name()] = &tensor;
    values_[tensor.name()] = {.dims = dims_of(tensor), .is_constant = true};
  }
  for (const auto& input : proto_.input()) add_port(input.name(), false);
  for (int i = 0; i < proto_.node_size(); ++i) add_node(i);
  for (const auto& output : proto_.output()) add_port(output.name(), true);
}

void LayoutGraph::add_value(const onnx::ValueInfoProto& info) {
  values_[info.name()].dims = dims_of(info.type());
}

/// Only sequences have a rule; their order is set, not searched.
void LayoutGraph::add_port(const std::string& name, bool is_output) {
  LayoutNode node{.port = name};
  const auto& dims = values_.at(name).dims;
  if (dims && dims->size() == 3) node.rule = Rule{.rank = 3};
  if (is_output) {
    node.inputs = {operand(name)};
    if (node.rule) node.rule->inputs = {0};
  } else if (node.rule) {
    node.outputs = {name};
  } else {
    return;
  }
  append(std::move(node));
}

LayoutOperand LayoutGraph::operand(const std::string& input) const {
  const auto found = moved_.find(input);
  return found == moved_.end() ? LayoutOperand{.root = input} : found->second;
}

std::optional<Step> LayoutGraph::step(const onnx::NodeProto& node) const {
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

/// Whether the node quantizes or dequantizes an operand, in any axis order. It
/// is no node of this graph then.
bool LayoutGraph::add_quantizer(int index) {
  const onnx::NodeProto& node = proto_.node(index);
  if (!is_quantize(node) && !is_dequantize(node)) return false;
  const auto* scale = lookup_.constant(node.input(1));
  if (scale == nullptr || find_attribute(node, "block_size") != nullptr) {
    return false;
  }
  LayoutOperand result = operand(node.input(0));
  if (scale->dims_size() != 0) {
    if (!values_[result.root].is_constant || !result.steps.empty())
      return false;
    result.per_channel = true;
  }
  result.quantizers.push_back(index);
  moved_.emplace(node.output(0), std::move(result));
  return true;
}

void LayoutGraph::add_node(int index) {
  const onnx::NodeProto& node = proto_.node(index);
  for (const auto& output : node.output()) values_.try_emplace(output);
  if (add_quantizer(index)) return;
  if (std::optional<Step> moved = step(node)) {
    LayoutOperand result = operand(node.input(0));
    result.steps.push_back(std::move(*moved));
    result.movements.push_back(index);
    if (!channel_inputs_.contains(node.output(0))) {
      result.leading = result.quantizers.size();
    }
    if (!result.per_channel && layout(result, {})) {
      moved_.emplace(node.output(0), std::move(result));
      return;
    }
  }
  LayoutNode result{.index = index};
  for (const auto& input : node.input())
    result.inputs.push_back(operand(input));
  result.outputs = {node.output().begin(), node.output().end()};
  const bool outputs_known =
      std::ranges::all_of(result.outputs, [this](const std::string& name) {
        return values_.at(name).dims.has_value();
      });
  if (outputs_known) result.rule = rule_of(node, lookup_, opset_);
  append(std::move(result));
}

/// Adds axes of size 1 to operands of lower rank; removes the rule if a layout
/// is unknown.
void LayoutGraph::align_ranks(LayoutNode& node) const {
  const auto rank = static_cast<size_t>(node.rule->rank);
  for (const int input : node.rule->inputs) {
    LayoutOperand& operand = node.inputs[static_cast<size_t>(input)];
    const std::optional<AxisLayout> own = layout(operand, {});
    if (!own || operand.per_channel) return node.rule.reset();
    std::vector<Dim> dims = own->dims();
    if (dims.size() == rank) continue;
    dims.insert(dims.begin(), rank - dims.size(), Dim());
    operand.steps.emplace_back(std::move(dims));
  }
}

/// Returns the features that a node may permute: the features of its first
/// operand, if they fit the other operands.
std::vector<Dim> LayoutGraph::features_of(const LayoutNode& node) const {
  if (node.rule->features == Features::fixed || node.rule->rank != 2) return {};
  LayoutNode candidate;
  std::vector<AxisLayout> layouts;
  for (const int input : node.rule->inputs) {
    const LayoutOperand& operand = node.inputs[static_cast<size_t>(input)];
    layouts.push_back(*layout(operand, {}));
    if (!candidate.features.empty() || value(operand.root).is_constant) {
      continue;
    }
    std::vector<Dim> factors = layouts.back().factors(1);
    if (factors.size() > 1) candidate.features = std::move(factors);
  }
  const bool fit = std::ranges::none_of(candidate.features, &Dim::batch) &&
                   std::ranges::all_of(layouts, [&](const AxisLayout& layout) {
                     return with_features(candidate, layout).has_value();
                   });
  return fit ? candidate.features : std::vector<Dim>();
}

void LayoutGraph::append(LayoutNode node) {
  const int number = static_cast<int>(nodes_.size());
  if (node.rule) align_ranks(node);
  if (node.rule) node.features = features_of(node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    values_[node.inputs[i].root].uses.emplace_back(number, static_cast<int>(i));
  }
  for (const std::string& output : node.outputs) {
    LayoutValue& value = values_[output];
    value.producer = number;
    if (node.rule && node.rule->features == Features::permuted) {
      value.features = node.features;
    }
  }
  nodes_.push_back(std::move(node));
}

Order LayoutGraph::stored_order(const std::string& value) const {
  const LayoutValue& own = values_.at(value);
  if (own.producer < 0) return {};
  const LayoutNode& node = nodes_[static_cast<size_t>(own.producer)];
  if (node.order.empty()) return {};
  if (node.features.empty()) return node.rule->output_order(node.order);
  return own.features.empty() ? Order() : node.order;
}

std::optional<AxisLayout> LayoutGraph::layout(const LayoutOperand& operand,
                                              const Order& stored) const {
  const LayoutValue& root = values_.at(operand.root);
  if (!root.dims) return std::nullopt;
  std::optional<AxisLayout> result;
  if (root.features.empty()) {
    result = AxisLayout(*root.dims, stored);
  } else {
    result = AxisLayout(separate(*root.dims, root.features), stored)
                 .reshaped(*root.dims);
  }
  for (const Step& step : operand.steps) {
    if (result) result = after(*result, step);
  }
  return result;
}

std::optional<AxisLayout> LayoutGraph::with_features(const LayoutNode& node,
                                                     const AxisLayout& layout) {
  if (node.features.empty()) return layout;
  return layout.reshaped(separate(layout.dims(), node.features));
}

std::optional<AxisLayout> LayoutGraph::layout(const LayoutNode& node,
                                              size_t input) const {
  const LayoutOperand& operand = node.inputs[input];
  std::optional<AxisLayout> result =
      layout(operand, stored_order(operand.root));
  if (!result) return result;
  const LayoutValue& root = value(operand.root);
  if (!root.features.empty()) result = result->stored_as(*root.dims);
  if (node.order.empty()) return result;
  const auto& permuted = node.rule->inputs;
  if (std::ranges::find(permuted, static_cast<int>(input)) == permuted.end()) {
    return result;
  }
  const std::vector<Dim> dims = result->dims();
  result = with_features(node, *result);
  if (result) result = result->transposed(node.order);
  return !result || node.features.empty() ? result : result->reshaped(dims);
}

}  // namespace octet::io::layout
