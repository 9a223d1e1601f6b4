#include "graph.h"

#include <algorithm>
#include <iostream>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "onnx/check/proto_limits.h"
#include "tensors.h"

namespace octet::io {
namespace {

const std::string& entry_or_empty(
    const google::protobuf::RepeatedPtrField<std::string>& names, int i) {
  static const std::string kNone;
  return i < names.size() ? names[i] : kNone;
}

template <class Map>
auto find_or_null(const Map& map, const std::string& key) ->
    typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

const std::string& OnnxNode::input(int i) const {
  return entry_or_empty(proto.input(), i);
}

const std::string& OnnxNode::output(int i) const {
  return entry_or_empty(proto.output(), i);
}

OnnxGraph::OnnxGraph(onnx::ModelProto model, const FileLimits& limits)
    : model_(std::move(model)),
      opset_(opset_of(model_)),
      name_(printable(model_.graph().name())),
      budget_(limits) {
  onnx::GraphProto& graph = *model_.mutable_graph();
  for (auto& tensor : *graph.mutable_initializer()) {
    initializers_[tensor.name()] = &tensor;
    names_.insert(tensor.name());
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    names_.insert(tensor.values().name());
  }
  for (const auto& input : graph.input()) names_.insert(input.name());
  for (const auto& output : graph.output()) ++output_uses_[output.name()];
  for (auto& proto : *graph.mutable_node()) {
    report_.nodes.push_back(
        {printable(name_of(proto), 200), printable(proto.op_type()), "", ""});
    onnx::NodeProto node;
    node.Swap(&proto);
    insert(nodes_.end(), std::move(node), {report_.nodes.size() - 1});
  }
  graph.clear_node();
  for (auto& input : *graph.mutable_input()) {
    types_[input.name()] = input.mutable_type();
  }
  for (auto* values : {graph.mutable_output(), graph.mutable_value_info()}) {
    for (auto& value : *values) {
      if (producers_.contains(value.name())) {
        types_[value.name()] = value.mutable_type();
      }
    }
  }
  const auto info = [&](const std::string& value) -> OnnxTensorInfo {
    return {value, type(value), shape(value)};
  };
  for (const auto& input : graph.input()) {
    // Before IR 4, initializers had to be listed as inputs.
    if (tensor(input.name()) == nullptr) inputs_.push_back(info(input.name()));
  }
  for (const auto& output : graph.output()) {
    outputs_.push_back(info(output.name()));
  }
  file_inputs_ = inputs_.size();
  input_places_.resize(file_inputs_);
  std::iota(input_places_.begin(), input_places_.end(), size_t{0});
}

onnx::ModelProto OnnxGraph::to_model() && {
  onnx::GraphProto& graph = *model_.mutable_graph();
  for (OnnxNode& node : nodes_) {
    if (!node.gone) graph.add_node()->Swap(&node.proto);
  }
  return std::move(model_);
}

onnx::ModelProto OnnxGraph::copy_model() const {
  onnx::ModelProto model = model_;
  for (const OnnxNode& node : nodes_) {
    if (!node.gone) *model.mutable_graph()->add_node() = node.proto;
  }
  return model;
}

const onnx::TensorProto* OnnxGraph::tensor(const std::string& value) const {
  if (const auto* found = find_or_null(initializers_, value)) return found;
  const OnnxNode* node = producer(value);
  if (node == nullptr || node->op_type() != "Constant" ||
      node->output_size() != 1) {
    return nullptr;
  }
  const auto* attribute = find_attribute(*node, "value");
  return attribute != nullptr && attribute->has_t() ? &attribute->t() : nullptr;
}

onnx::TensorProto* OnnxGraph::initializer(const std::string& value) {
  return find_or_null(initializers_, value);
}

const OnnxConstant* OnnxGraph::constant(const std::string& value) const {
  const auto found = constants_.find(value);
  return found == constants_.end() ? nullptr : &found->second;
}

std::string OnnxGraph::add_constant(const std::string& name,
                                    const Tensor& value) {
  std::string unique = unique_name(name);
  set_constant(unique, {.value = value, .source = unique});
  return unique;
}

const std::string* OnnxGraph::other_type(const std::string& value) const {
  const auto found = other_types_.find(value);
  return found == other_types_.end() ? nullptr : &found->second;
}

OnnxNode* OnnxGraph::producer(const std::string& value) {
  OnnxNode* node = find_or_null(producers_, value);
  return node == nullptr || node->gone ? nullptr : node;
}

const OnnxNode* OnnxGraph::producer(const std::string& value) const {
  const OnnxNode* node = find_or_null(producers_, value);
  return node == nullptr || node->gone ? nullptr : node;
}

int64_t OnnxGraph::uses(const std::string& value) const {
  int64_t uses = 0;
  const auto found = consumers_.find(value);
  if (found != consumers_.end()) {
    for (const auto& [node, count] : found->second) uses += count;
  }
  const auto output = output_uses_.find(value);
  return uses + (output == output_uses_.end() ? 0 : output->second);
}

std::vector<OnnxNode*> OnnxGraph::consumers(const std::string& value) const {
  std::vector<OnnxNode*> result;
  const auto found = consumers_.find(value);
  if (found == consumers_.end()) return result;
  for (const auto& [node, count] : found->second) result.push_back(node);
  return result;
}

OnnxNode* OnnxGraph::only_consumer(const std::string& value) const {
  const auto found = consumers_.find(value);
  if (found == consumers_.end() || found->second.size() != 1 ||
      is_output(value)) {
    return nullptr;
  }
  return found->second.begin()->first;
}

bool OnnxGraph::is_output(const std::string& value) const {
  return output_uses_.contains(value);
}

bool OnnxGraph::is_consumed_only_by(const std::string& value,
                                    const std::vector<OnnxNode*>& nodes) const {
  if (is_output(value)) return false;
  const auto found = consumers_.find(value);
  return found == consumers_.end() ||
         std::ranges::all_of(found->second, [&](const auto& consumer) {
           return std::ranges::find(nodes, consumer.first) != nodes.end();
         });
}

std::optional<std::vector<int64_t>> OnnxGraph::stated(
    const std::string& value) const {
  if (initializers_.contains(value)) {
    if (!types_.contains(value)) return std::nullopt;
  } else if (const auto* constant = tensor(value)) {
    return std::vector<int64_t>(constant->dims().begin(),
                                constant->dims().end());
  }
  const auto* type = find_or_null(types_, value);
  if (type == nullptr || !type->has_tensor_type() ||
      !type->tensor_type().has_shape()) {
    return std::nullopt;
  }
  std::vector<int64_t> dims;
  for (const auto& dim : type->tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return dims;
}

std::optional<std::vector<int64_t>> OnnxGraph::dims(
    const std::string& value) const {
  const auto* constant = tensor(value);
  if (constant == nullptr) return stated(value);
  return std::vector<int64_t>(constant->dims().begin(), constant->dims().end());
}

OnnxShape OnnxGraph::shape(const std::string& value) const {
  if (const auto* constant = tensor(value)) return shape_of(*constant);
  const auto* type = find_or_null(types_, value);
  return type == nullptr ? OnnxShape() : shape_of(*type);
}

std::string OnnxGraph::type(const std::string& value) const {
  const int32_t type = element_type(value);
  return type == onnx::TensorProto::UNDEFINED ? "" : type_name(type);
}

int32_t OnnxGraph::element_type(const std::string& value) const {
  if (const auto* constant = tensor(value)) return constant->data_type();
  const auto* type = find_or_null(types_, value);
  return type == nullptr || !type->has_tensor_type()
             ? onnx::TensorProto::UNDEFINED
             : type->tensor_type().elem_type();
}

const std::string& name_of(const onnx::NodeProto& node) {
  return node.name().empty() && node.output_size() > 0 ? node.output(0)
                                                       : node.name();
}

void run_passes(OnnxGraph& graph, std::string_view stage,
                std::span<const GraphPass> passes) {
  const bool traced = traces(TraceKind::passes);
  const auto count = [&] {
    return std::ranges::count(graph.nodes(), false, &OnnxNode::gone);
  };
  for (const GraphPass& pass : passes) {
    const auto before = traced ? count() : 0;
    with_context([&] { return fmt::format("in {} '{}'", stage, pass.name); },
                 [&] { pass.run(graph); });
    if (traced) {
      std::cerr << fmt::format("{} '{}': {} nodes, then {}\n", stage, pass.name,
                               before, count());
    }
  }
}

bool has_subgraphs(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const auto& attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0;
  });
}

void append_captured(const onnx::NodeProto& node,
                     std::vector<std::string>& names) {
  const auto append_graph = [&](const onnx::GraphProto& graph) {
    for (const auto& inner : graph.node()) {
      names.insert(names.end(), inner.input().begin(), inner.input().end());
      append_captured(inner, names);
    }
    for (const auto& output : graph.output()) names.push_back(output.name());
  };
  for (const auto& attribute : node.attribute()) {
    append_graph(attribute.g());
    for (const auto& graph : attribute.graphs()) append_graph(graph);
  }
}

bool is_op(const OnnxNode& node, const char* op) {
  return is_op(node, std::initializer_list<std::string_view>{op});
}

bool is_op(const OnnxNode& node, std::initializer_list<std::string_view> ops) {
  return !node.gone && is_standard_domain(node.domain()) &&
         std::ranges::find(ops, node.op_type()) != ops.end();
}

}  // namespace octet::io
