#include "graph_view.h"

#include "tensors.h"

namespace octet::io {
namespace {

template <class Map>
auto find_or_null(const Map& map, const std::string& key) ->
    typename Map::mapped_type {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : found->second;
}

}  // namespace

GraphView::GraphView(const onnx::GraphProto& graph) : graph_(graph) {
  for (const auto* values :
       {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *values) types_[value.name()] = &value.type();
  }
  for (const auto& node : graph.node()) {
    for (const auto& output : node.output()) {
      if (!output.empty()) producers_[output] = &node;
    }
    for (const auto& input : node.input()) {
      if (input.empty()) continue;
      auto& consumers = consumers_[input];
      if (consumers.empty() || consumers.back() != &node)
        consumers.push_back(&node);
    }
    if (node.op_type() == "Constant" && node.output_size() == 1) {
      const auto* value = find_attribute(node, "value");
      if (value != nullptr && value->has_t()) {
        constants_[node.output(0)] = &value->t();
      }
    }
  }
  for (const auto& tensor : graph.initializer()) {
    constants_[tensor.name()] = &tensor;
  }
}

const onnx::TensorProto* GraphView::constant(const std::string& value) const {
  return find_or_null(constants_, value);
}

const onnx::NodeProto* GraphView::producer(const std::string& value) const {
  return find_or_null(producers_, value);
}

const std::vector<const onnx::NodeProto*>& GraphView::consumers(
    const std::string& value) const {
  static const std::vector<const onnx::NodeProto*> kNone;
  const auto found = consumers_.find(value);
  return found == consumers_.end() ? kNone : found->second;
}

OnnxTensorInfo GraphView::info(const std::string& value) const {
  return {value, type(value), shape(value)};
}

std::vector<OnnxTensorInfo> GraphView::inputs() const {
  std::vector<OnnxTensorInfo> infos;
  for (const auto& input : graph_.input()) {
    // Before IR 4, initializers had to be listed as inputs.
    const bool initialized =
        constant(input.name()) != nullptr && producer(input.name()) == nullptr;
    if (!initialized) infos.push_back(info(input.name()));
  }
  return infos;
}

std::vector<OnnxTensorInfo> GraphView::outputs() const {
  std::vector<OnnxTensorInfo> infos;
  for (const auto& output : graph_.output()) {
    infos.push_back(info(output.name()));
  }
  return infos;
}

std::optional<std::vector<int64_t>> GraphView::dims(
    const std::string& value) const {
  if (const auto* tensor = constant(value)) {
    return std::vector<int64_t>(tensor->dims().begin(), tensor->dims().end());
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

OnnxShape GraphView::shape(const std::string& value) const {
  if (const auto* tensor = constant(value)) return shape_of(*tensor);
  const auto* type = find_or_null(types_, value);
  return type == nullptr ? OnnxShape() : shape_of(*type);
}

std::string GraphView::type(const std::string& value) const {
  const int32_t type = element_type(value);
  return type == onnx::TensorProto::UNDEFINED ? "" : type_name(type);
}

int32_t GraphView::element_type(const std::string& value) const {
  if (const auto* tensor = constant(value)) return tensor->data_type();
  const auto* type = find_or_null(types_, value);
  if (type == nullptr || !type->has_tensor_type()) {
    return onnx::TensorProto::UNDEFINED;
  }
  return type->tensor_type().elem_type();
}

}  // namespace octet::io
