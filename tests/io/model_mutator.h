// Random changes to ONNX models that protobuf still parses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Randomly changes parts of a model; the messages stay well-formed.
class ModelMutator {
 public:
  explicit ModelMutator(uint64_t seed) : random_(seed) {}

  void damage(onnx::ModelProto& model) {
    for (size_t i = 1 + below(3); i > 0; --i) change(model);
  }

 private:
  size_t below(size_t end) { return random_() % end; }

  template <class Field>
  auto& any(Field& field) {
    return *(field.begin() +
             static_cast<ptrdiff_t>(below(static_cast<size_t>(field.size()))));
  }

  int64_t number() {
    static constexpr int64_t kNumbers[] = {
        0,  1,  2,   3,   -1,   -2,        5,         17,
        64, -9, 255, 256, 4096, INT32_MAX, INT64_MAX, INT64_MIN};
    return kNumbers[below(std::size(kNumbers))];
  }

  void change(onnx::ModelProto& model) {
    auto& graph = *model.mutable_graph();
    auto& nodes = *graph.mutable_node();
    switch (below(8)) {
      case 0:
        model.mutable_opset_import(0)->set_version(
            static_cast<int64_t>(below(27)));
        break;
      case 1:
        if (!nodes.empty()) change_operator(any(nodes), any(nodes));
        break;
      case 2:
        if (!nodes.empty()) change_input(any(nodes), graph);
        break;
      case 3:
      case 4:
        if (!nodes.empty()) change_attribute(any(nodes));
        break;
      case 5:
        if (graph.initializer_size() > 0) {
          change_tensor(any(*graph.mutable_initializer()));
        }
        break;
      case 6:
        change_value(any(*graph.mutable_output()));
        break;
      case 7:
        if (graph.input_size() > 0) change_value(any(*graph.mutable_input()));
        break;
    }
  }

  void change_operator(onnx::NodeProto& node, const onnx::NodeProto& other) {
    static constexpr const char* kOperators[] = {
        "Conv",     "ReduceMean", "Resize",   "Split",     "Pad",
        "MaxPool",  "GatherND",   "OneHot",   "TopK",      "ScatterND",
        "Gelu",     "Reshape",    "Gemm",     "CumSum",    "DepthToSpace",
        "Identity", "LRN",        "Upsample", "Tile",      "QuantizeLinear",
        "Trilu",    "NonZero",    "MatMul",   "Transpose", "ConvTranspose"};
    node.set_op_type(below(2) == 0 ? other.op_type()
                                   : kOperators[below(std::size(kOperators))]);
    if (below(4) == 0) node.clear_attribute();
  }

  void change_input(onnx::NodeProto& node, onnx::GraphProto& graph) {
    std::vector<std::string> names{"", "nowhere"};
    for (const auto& input : graph.input()) names.push_back(input.name());
    for (const auto& tensor : graph.initializer())
      names.push_back(tensor.name());
    for (const auto& other : graph.node()) {
      for (const auto& output : other.output()) names.push_back(output);
    }
    const std::string& name = names[below(names.size())];
    if (node.input_size() == 0 || below(4) == 0) {
      node.add_input(name);
    } else if (below(6) == 0) {
      node.mutable_input()->RemoveLast();
    } else {
      any(*node.mutable_input()) = name;
    }
  }

  void change_attribute(onnx::NodeProto& node) {
    if (node.attribute_size() == 0) return;
    auto& attribute = any(*node.mutable_attribute());
    if (below(8) == 0) {
      attribute.Clear();
      attribute.set_name("axis");
      attribute.set_type(onnx::AttributeProto::INT);
      attribute.set_i(number());
    } else if (attribute.has_i()) {
      attribute.set_i(number());
    } else if (attribute.has_f()) {
      attribute.set_f(static_cast<float>(number()));
    } else if (attribute.ints_size() > 0) {
      if (below(4) == 0) {
        attribute.add_ints(number());
      } else if (below(4) == 0) {
        attribute.mutable_ints()->RemoveLast();
      } else {
        any(*attribute.mutable_ints()) = number();
      }
    } else if (attribute.has_t()) {
      change_tensor(*attribute.mutable_t());
    }
  }

  // Other numbers, other dimensions with the same number of elements, or too
  // many.
  void change_tensor(onnx::TensorProto& tensor) {
    const auto elements = [&] {
      uint64_t count = 1;  // damaged sizes overflow
      for (const int64_t dim : tensor.dims()) {
        count *= static_cast<uint64_t>(dim);
      }
      return static_cast<int64_t>(count);
    }();
    switch (below(4)) {
      case 0:
        if (tensor.int64_data_size() > 0) {
          any(*tensor.mutable_int64_data()) = number();
        } else if (tensor.raw_data().size() >= sizeof(int64_t)) {
          const int64_t value = number();
          const size_t at =
              below(tensor.raw_data().size() / sizeof value) * sizeof value;
          tensor.mutable_raw_data()->replace(
              at, sizeof value, reinterpret_cast<const char*>(&value),
              sizeof value);
        }
        break;
      case 1:
        tensor.clear_dims();
        tensor.add_dims(elements);
        break;
      case 2:
        tensor.clear_dims();
        tensor.add_dims(1);
        tensor.add_dims(elements);
        tensor.add_dims(1);
        break;
      case 3:
        if (tensor.dims_size() > 0) any(*tensor.mutable_dims()) = number();
        break;
    }
  }

  void change_value(onnx::ValueInfoProto& value) {
    if (!value.type().has_tensor_type()) return;
    auto& type = *value.mutable_type()->mutable_tensor_type();
    if (below(6) == 0) {
      type.set_elem_type(static_cast<int32_t>(below(20)));
    } else if (below(6) == 0) {
      type.clear_shape();
    } else if (type.shape().dim_size() > 0) {
      auto& dim = any(*type.mutable_shape()->mutable_dim());
      if (below(3) == 0) {
        dim.clear_dim_value();
      } else {
        dim.set_dim_value(static_cast<int64_t>(below(9)) - 1);
      }
    }
  }

  std::mt19937_64 random_;
};

}  // namespace octet::io
