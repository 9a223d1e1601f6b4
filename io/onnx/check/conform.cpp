#include "conform.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "onnx/graph/graph.h"
#include "onnx/graph/opsets.h"
#include "proto_limits.h"

namespace octet::io {
namespace {

// Removes an undefined type, and dynamic dimensions written as -1.
void conform_value(onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) return;
  auto& type = *value.mutable_type()->mutable_tensor_type();
  if (type.elem_type() == onnx::TensorProto::UNDEFINED && !type.has_shape()) {
    value.clear_type();
    return;
  }
  if (!type.has_shape()) return;
  for (auto& dim : *type.mutable_shape()->mutable_dim()) {
    if (dim.has_dim_value() && dim.dim_value() == -1) dim.clear_dim_value();
  }
}

// Converts the numbers of a Constant to a tensor, because shape inference reads
// only tensors.
void conform_constant(onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || node.attribute_size() != 1) return;
  onnx::AttributeProto& value = *node.mutable_attribute(0);
  onnx::TensorProto tensor;
  if (value.name() == "value_float" || value.name() == "value_floats") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    *tensor.mutable_float_data() = value.floats();
    if (value.has_f()) tensor.add_float_data(value.f());
  } else if (value.name() == "value_int" || value.name() == "value_ints") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    *tensor.mutable_int64_data() = value.ints();
    if (value.has_i()) tensor.add_int64_data(value.i());
  } else {
    return;
  }
  if (value.name().ends_with('s')) {
    tensor.add_dims(tensor.float_data_size() + tensor.int64_data_size());
  }
  value.Clear();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  value.mutable_t()->Swap(&tensor);
}

// Unpacks int4 and uint4, which onnx 1.12 does not support, to 8 bits. The
// results of DequantizeLinear are the same. Tensors of a wrong size are
// reported later.
void unpack_int4(onnx::TensorProto& tensor, PackedConstants& packed_constants) {
  const bool is_signed = tensor.data_type() == kInt4;
  if (!is_signed && tensor.data_type() != kUint4) return;
  std::string packed = tensor.raw_data();
  if (!tensor.has_raw_data()) {
    for (const int32_t byte : tensor.int32_data()) {
      packed.push_back(static_cast<char>(byte));
    }
  }
  size_t count = 1;
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0 || dim > std::numeric_limits<int32_t>::max()) return;
    count *= static_cast<size_t>(dim);
    if (count > 2 * packed.size()) return;
  }
  if (packed.size() != (count + 1) / 2) return;
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) {
    const int bits = packed[i / 2] >> (i % 2 == 0 ? 0 : 4) & 0xf;
    bytes[i] = static_cast<char>(is_signed && bits > 7 ? bits - 16 : bits);
  }
  packed_constants.push_back(tensor);
  tensor.set_data_type(is_signed ? onnx::TensorProto::INT8
                                 : onnx::TensorProto::UINT8);
  tensor.clear_int32_data();
  tensor.set_raw_data(std::move(bytes));
}

// Replaces int4 in a type, as unpack_int4() does.
void unpack_type(onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type()) return;
  auto& type = *value.mutable_type()->mutable_tensor_type();
  if (type.elem_type() == kInt4) type.set_elem_type(onnx::TensorProto::INT8);
  if (type.elem_type() == kUint4) type.set_elem_type(onnx::TensorProto::UINT8);
}

void conform_graph(onnx::GraphProto& graph, PackedConstants& packed) {
  if (graph.name().empty()) graph.set_name("graph");
  for (auto& tensor : *graph.mutable_initializer()) {
    unpack_int4(tensor, packed);
  }
  for (auto& value : *graph.mutable_value_info()) unpack_type(value);
  // Before IR 4, initializers are listed as inputs, too.
  for (auto& value : *graph.mutable_input()) {
    const bool is_initializer = std::ranges::any_of(
        packed, [&](const auto& t) { return t.name() == value.name(); });
    if (is_initializer) unpack_type(value);
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output(),
                       graph.mutable_value_info()}) {
    for (auto& value : *values) conform_value(value);
  }
  for (auto& node : *graph.mutable_node()) {
    if (is_standard_domain(node.domain())) {
      node.clear_domain();
      conform_constant(node);
    }
    const auto* axes = find_attribute(node, "axes");
    if (axes != nullptr && axes->type() == onnx::AttributeProto::INTS &&
        axes->ints().empty()) {
      remove_attribute(node, "axes");  // all axes, as without the attribute
    }
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) unpack_int4(*attribute.mutable_t(), packed);
      if (attribute.has_g()) conform_graph(*attribute.mutable_g(), packed);
      for (auto& inner : *attribute.mutable_graphs())
        conform_graph(inner, packed);
    }
  }
}

// Moves each node behind the producers of its inputs, without further changes
// of the order. Nodes on a cycle and their consumers are moved to the end,
// where onnx::checker reports them.
void sort_nodes(onnx::GraphProto& graph) {
  auto& nodes = *graph.mutable_node();
  std::unordered_map<std::string, int> producers;
  for (int i = 0; i < nodes.size(); ++i) {
    for (const auto& output : nodes[i].output()) producers.emplace(output, i);
  }
  producers.erase("");
  std::vector<std::vector<int>> consumers(static_cast<size_t>(nodes.size()));
  std::vector<int> pending(consumers.size());  // producers not yet in `order`
  bool sorted = true;
  for (int i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> names(nodes[i].input().begin(),
                                   nodes[i].input().end());
    append_captured(nodes[i], names);
    for (const auto& name : names) {
      const auto producer = producers.find(name);
      if (producer == producers.end()) continue;
      consumers[static_cast<size_t>(producer->second)].push_back(i);
      ++pending[static_cast<size_t>(i)];
      sorted = sorted && producer->second < i;
    }
  }
  if (sorted) return;
  std::set<int> ready;
  for (int i = 0; i < nodes.size(); ++i) {
    if (pending[static_cast<size_t>(i)] == 0) ready.insert(i);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const int consumer : consumers[static_cast<size_t>(next)]) {
      if (--pending[static_cast<size_t>(consumer)] == 0) ready.insert(consumer);
    }
  }
  for (int i = 0; i < nodes.size(); ++i) {
    if (pending[static_cast<size_t>(i)] > 0) order.push_back(i);
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> result;
  for (const int i : order) result.Add()->Swap(&nodes[i]);
  nodes.Swap(&result);
}

// Whether onnx::checker accepts the type of an input or output: tensors need a
// shape.
bool has_valid_type(const onnx::ValueInfoProto& value) {
  if (!value.has_type()) return false;
  return !value.type().has_tensor_type() ||
         value.type().tensor_type().has_shape();
}

}  // namespace

PackedConstants conform(onnx::ModelProto& model) {
  for (auto& import : *model.mutable_opset_import()) {
    if (is_standard_domain(import.domain())) import.clear_domain();
  }
  PackedConstants packed;
  if (!model.has_graph()) return packed;
  conform_graph(*model.mutable_graph(), packed);
  sort_nodes(*model.mutable_graph());
  return packed;
}

void restore_packed(onnx::GraphProto& graph, const PackedConstants& packed) {
  for (const onnx::TensorProto& stored : packed) {
    onnx::TensorProto unpacked = stored;
    PackedConstants ignored;
    unpack_int4(unpacked, ignored);
    for (auto& tensor : *graph.mutable_initializer()) {
      if (tensor.name() == stored.name() &&
          tensor.data_type() == unpacked.data_type() &&
          tensor.raw_data() == unpacked.raw_data()) {
        tensor = stored;
      }
    }
  }
}

TemporaryShapes::TemporaryShapes(onnx::GraphProto& graph) {
  for (auto* values : {graph.mutable_input(), graph.mutable_output()}) {
    for (auto& value : *values) {
      if (has_valid_type(value)) continue;
      changes_.push_back({&value, value.type(), value.has_type()});
      auto& type = *value.mutable_type()->mutable_tensor_type();
      if (!type.has_elem_type()) type.set_elem_type(onnx::TensorProto::FLOAT);
      type.mutable_shape();
    }
  }
}

TemporaryShapes::~TemporaryShapes() {
  for (Change& change : changes_) {
    change.value->clear_type();
    if (change.had_type) change.value->mutable_type()->Swap(&change.before);
  }
}

HiddenFloat8::~HiddenFloat8() {
  for (onnx::TensorProto* tensor : hidden_) {
    tensor->set_data_type(kFloat8E4M3FN);
  }
}

void HiddenFloat8::hide(onnx::TensorProto& tensor) {
  if (tensor.data_type() != kFloat8E4M3FN) return;
  tensor.set_data_type(onnx::TensorProto::INT8);
  hidden_.push_back(&tensor);
}

void HiddenFloat8::hide(onnx::GraphProto& graph) {
  for (auto& tensor : *graph.mutable_initializer()) hide(tensor);
  for (auto& node : *graph.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) hide(*attribute.mutable_t());
      if (attribute.has_g()) hide(*attribute.mutable_g());
      for (auto& inner : *attribute.mutable_graphs()) hide(inner);
    }
  }
}

}  // namespace octet::io
