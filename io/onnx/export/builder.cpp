#include "builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "onnx/graph/tensors.h"

namespace octet::io {
namespace {

int32_t onnx_type(DType type, const std::string& name) {
  switch (type) {
    case DType::f32:
      return onnx::TensorProto::FLOAT;
    case DType::i8:
      return onnx::TensorProto::INT8;
    case DType::u8:
      return onnx::TensorProto::UINT8;
    case DType::i64:
      return onnx::TensorProto::INT64;
    default:
      throw UnsupportedError(
          "unsupported_type", fmt::format("initializer '{}'", name),
          fmt::format("must be f32, i8, u8 or i64, got {}", to_string(type)));
  }
}

// Masks contain zeros and minus infinity, and scalar bounds and fill values may
// be infinite.
void check_finite(const std::string& name, const Tensor& value) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const auto elements = value.f32();
  const bool mask = std::ranges::find(elements, 0.0f) != elements.end() &&
                    std::ranges::all_of(elements, [](float v) {
                      return v == 0 || v == kHidden;
                    });
  if (mask || (value.shape().rank() == 0 && std::isinf(elements[0]))) return;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(elements[i])) {
      throw ValueError("not_finite", fmt::format("initializer '{}'", name),
                       fmt::format("values must be finite, got {} at index {} "
                                   "of {}",
                                   elements[i], i, value.shape().to_string()));
    }
  }
}

void set_attribute(onnx::AttributeProto& proto,
                   const OnnxBuilder::Attribute& attribute) {
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          proto.set_type(onnx::AttributeProto::INT);
          proto.set_i(value);
        } else if constexpr (std::is_same_v<T, float>) {
          proto.set_type(onnx::AttributeProto::FLOAT);
          proto.set_f(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          proto.set_type(onnx::AttributeProto::STRING);
          proto.set_s(value);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          proto.set_type(onnx::AttributeProto::INTS);
          proto.mutable_ints()->Assign(value.begin(), value.end());
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          proto.set_type(onnx::AttributeProto::FLOATS);
          proto.mutable_floats()->Assign(value.begin(), value.end());
        } else {
          proto.set_type(onnx::AttributeProto::STRINGS);
          proto.mutable_strings()->Assign(value.begin(), value.end());
        }
      },
      attribute);
}

}  // namespace

void GraphBuilder::set_type(onnx::TypeProto& type, const Shape& shape,
                            int32_t element_type) const {
  auto* tensor = type.mutable_tensor_type();
  tensor->set_elem_type(element_type);
  tensor->mutable_shape();  // rank 0 is a shape too
  for (const int64_t size : shape.dims()) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (size != Shape::kAnySize) {
      dim->set_dim_value(size);
    } else if (batch_ != 0) {
      dim->set_dim_value(batch_);
    } else {
      dim->set_dim_param(batch_name_);
    }
  }
}

std::string GraphBuilder::unique_value(const std::string& name) {
  return values_.add(name);
}

std::string GraphBuilder::unique_node(const std::string& name) {
  return node_names_.add(
      name, [this](const std::string& other) { return kept_.contains(other); });
}

void GraphBuilder::reserve(const std::string& value) {
  if (!values_.insert(value)) {
    throw ValueError("duplicate_name", fmt::format("ONNX value '{}'", value),
                     "name is already in use. Hint: choose another name");
  }
}

std::string GraphBuilder::reserve_like(const std::string& value) {
  return unique_value(value);
}

void GraphBuilder::add_input(const std::string& name, const Shape& shape,
                             int32_t type) {
  auto* input = graph_.add_input();
  input->set_name(name);
  set_type(*input->mutable_type(), shape, type);
}

void GraphBuilder::remove_unused_casts() {
  std::unordered_set<std::string> used;
  for (const auto& output : graph_.output()) used.insert(output.name());
  for (const auto& node : graph_.node()) {
    used.insert(node.input().begin(), node.input().end());
  }
  auto& nodes = *graph_.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const onnx::NodeProto& node) {
                               return integers_.contains(node.output(0)) &&
                                      !used.contains(node.output(0));
                             }),
              nodes.end());
}

void GraphBuilder::add_output(const std::string& value, const std::string& name,
                              const Shape& shape, int32_t type) {
  repeat(value);
  bool renamed = false;
  for (auto& node : *graph_.mutable_node()) {
    // Producers precede consumers in the graph.
    for (auto& input : *node.mutable_input()) {
      if (renamed && input == value) input = name;
    }
    for (auto& output : *node.mutable_output()) {
      if (output != value) continue;
      output = name;
      renamed = true;
    }
  }
  if (renamed) {
    outputs_[value] = name;
  } else {
    const auto earlier = outputs_.find(value);
    onnx::NodeProto* node = graph_.add_node();
    node->set_op_type("Identity");
    node->set_name(unique_node(name));
    node->add_input(earlier == outputs_.end() ? value : earlier->second);
    node->add_output(name);
  }
  auto* output = graph_.add_output();
  output->set_name(name);
  set_type(*output->mutable_type(), shape, type);
}

std::string GraphBuilder::add_node(std::string_view op_type,
                                   std::string_view name,
                                   const std::vector<std::string>& inputs,
                                   const Attributes& attributes) {
  for (const std::string& input : inputs) {
    // "" omits an optional input.
    if (!input.empty() && !values_.contains(input)) {
      throw InternalError(
          "internal", fmt::format("ONNX node '{}' ({})", name, op_type),
          fmt::format("input '{}' is not a value of the graph", input));
    }
    repeat(input);
  }
  if (op_type == "Cast" &&
      attributes.at(0).second == Attribute(int64_t{onnx::TensorProto::INT64})) {
    const auto found = integers_.find(inputs[0]);
    if (found != integers_.end()) return found->second;
  }
  const std::string node = unique_node(std::string(name));
  const std::string output = unique_value(node + "/output");
  put_node(op_type, node, inputs, attributes, output);
  return output;
}

void GraphBuilder::put_node(std::string_view op_type, std::string_view name,
                            const std::vector<std::string>& inputs,
                            const Attributes& attributes,
                            const std::string& output) {
  onnx::NodeProto* node = graph_.add_node();
  node->set_op_type(std::string(op_type));
  node->set_name(std::string(name));
  for (const std::string& input : inputs) node->add_input(input);
  for (const auto& [key, attribute] : attributes) {
    if (key == "axes" && takes_axes_as_input(op_type, opset_)) {
      const auto& axes = std::get<std::vector<int64_t>>(attribute);
      node->add_input(add_initializer(
          node->name() + "/axes",
          Tensor::of<int64_t>({static_cast<int64_t>(axes.size())}, axes)));
      continue;
    }
    auto* proto = node->add_attribute();
    proto->set_name(key);
    set_attribute(*proto, attribute);
  }
  node->add_output(output);
}

std::string GraphBuilder::add_repeated(std::string_view name,
                                       const std::string& constant, int rank,
                                       const std::string& x) {
  const std::string node = unique_node(std::string(name));
  const std::string value = unique_value(node + "/output");
  repeated_[value] = {node, constant, rank, x};
  return value;
}

std::string GraphBuilder::one_sample(const std::string& value) const {
  const auto found = repeated_.find(value);
  return found == repeated_.end() ? value : found->second.constant;
}

// The batch size is known from the graph's inputs only.
void GraphBuilder::repeat(const std::string& value) {
  const auto found = repeated_.find(value);
  if (found == repeated_.end() || found->second.made) return;
  found->second.made = true;
  Repeated repeated = found->second;
  const auto renamed = outputs_.find(repeated.x);
  if (renamed != outputs_.end()) repeated.x = renamed->second;
  const auto list = [&](const char* name, std::vector<int64_t> numbers) {
    return add_initializer(
        repeated.name + "/" + name,
        Tensor::of<int64_t>({static_cast<int64_t>(numbers.size())}, numbers));
  };
  const auto node = [&](const char* op, const char* name,
                        const std::vector<std::string>& inputs,
                        const Attributes& attributes = {}) {
    return add_node(op, repeated.name + "/" + name, inputs, attributes);
  };
  std::string sizes = node("Slice", "batch",
                           {node("Shape", "input_shape", {repeated.x}),
                            list("first", {0}), list("second", {1})});
  if (repeated.rank > 1) {
    const std::vector<int64_t> ones(static_cast<size_t>(repeated.rank - 1), 1);
    sizes = node("Concat", "sizes", {sizes, list("ones", ones)},
                 {{"axis", int64_t{0}}});
  }
  put_node("Expand", repeated.name, {repeated.constant, sizes}, {}, value);
}

onnx::TensorProto GraphBuilder::header_of(const std::string& name,
                                          const Tensor& value,
                                          const Shape& shape) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx_type(value.dtype(), name));
  if (value.dtype() == DType::f32) check_finite(name, value);
  const auto dims = shape.dims();
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  initializer_bytes_ += value.bytes();
  if (initializer_bytes_ > std::numeric_limits<int32_t>::max()) {
    throw UnsupportedError(
        "size_limit", fmt::format("initializer '{}'", name),
        "total size of the weights exceeds 2 GiB, and export writes no "
        "external data");
  }
  return tensor;
}

std::string GraphBuilder::put(const std::string& name,
                              onnx::TensorProto tensor) {
  tensor.set_name(unique_value(name));
  const int index = graph_.initializer_size();
  initializers_[name].push_back(index);
  constants_[tensor.name()] = index;
  *graph_.add_initializer() = std::move(tensor);
  return graph_.initializer(index).name();
}

std::string GraphBuilder::add_initializer(std::string_view name,
                                          const Tensor& value) {
  const std::string wanted(name);
  onnx::TensorProto tensor = header_of(wanted, value, value.shape());
  // Raw data is little-endian in ONNX and on the machines that run Octet.
  tensor.set_raw_data(value.raw(), static_cast<size_t>(value.bytes()));
  return put_once(wanted, std::move(tensor), value.bytes());
}

// Returns an existing initializer with this requested name and contents, or
// adds `tensor`, whose bytes are counted already.
std::string GraphBuilder::put_once(const std::string& name,
                                   onnx::TensorProto tensor, int64_t bytes) {
  for (const int index : initializers_[name]) {
    const onnx::TensorProto& other = graph_.initializer(index);
    if (other.data_type() == tensor.data_type() &&
        std::ranges::equal(other.dims(), tensor.dims()) &&
        other.raw_data() == tensor.raw_data()) {
      initializer_bytes_ -= bytes;
      return other.name();
    }
  }
  return put(name, std::move(tensor));
}

std::string GraphBuilder::add_initializer(std::string_view name,
                                          const Tensor& value,
                                          const Arrangement& stored) {
  // Vectors stay in the graph: scales are fitted to biases there.
  if (large_ == nullptr || value.bytes() < kLargeConstant ||
      value.shape().rank() < 2) {
    return add_initializer(name, stored.apply(value));
  }
  const std::string wanted(name);
  onnx::TensorProto tensor =
      header_of(wanted, value, stored.shape_of(value.shape()));
  for (const int index : initializers_[wanted]) {
    const auto other = large_->find(graph_.initializer(index).name());
    if (other != large_->end() && other->second.value.raw() == value.raw() &&
        other->second.stored == stored) {
      initializer_bytes_ -= value.bytes();
      return other->first;
    }
  }
  const std::string added = put(wanted, std::move(tensor));
  large_->emplace(added, LargeConstant{value, stored});
  return added;
}

}  // namespace octet::io
