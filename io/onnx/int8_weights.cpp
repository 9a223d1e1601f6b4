#include "int8_weights.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <octet/runtime/quant_params.h>
#include <octet/runtime/tensor.h>

#include "attributes.h"
#include "qdq.h"

namespace octet::io {
namespace {

/// Loads an initializer of GraphBuilder, which has raw data.
Tensor floats_of(const onnx::TensorProto& proto) {
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  Tensor tensor((Shape(std::span<const int64_t>(dims))));
  std::memcpy(tensor.raw(), proto.raw_data().data(), proto.raw_data().size());
  return tensor;
}

/// Output of QuantizeLinear for `weight`. ONNX saturates at the bounds of int8.
Tensor codes_of(const onnx::NodeProto& node, const onnx::TensorProto& weight,
                const onnx::TensorProto& scale) {
  const auto* axis = find_attribute(node, "axis");
  return quantize(
      floats_of(weight),
      QuantParams{.scale = floats_of(scale),
                  .axis = axis == nullptr ? -1 : static_cast<int>(axis->i()),
                  .low = -128,
                  .high = 127});
}

void store_codes(onnx::TensorProto& proto, const Tensor& codes) {
  proto.set_data_type(onnx::TensorProto::INT8);
  proto.set_raw_data(codes.raw(), static_cast<size_t>(codes.bytes()));
}

class WeightStore {
 public:
  explicit WeightStore(onnx::GraphProto& graph) : graph_(graph) {
    for (int i = 0; i < graph.initializer_size(); ++i) {
      initializers_[graph.initializer(i).name()] = i;
    }
    for (const auto& node : graph.node()) {
      for (const auto& input : node.input()) ++consumers_[input];
    }
  }

  bool is_constant(const std::string& value) const {
    return initializers_.contains(value);
  }

  /// Stores the output of `node` and returns its name.
  std::string store(const onnx::NodeProto& node) {
    onnx::TensorProto& weight = initializer(node.input(0));
    const Tensor codes = codes_of(node, weight, initializer(node.input(1)));
    if (consumers_[weight.name()] == 1) {
      store_codes(weight, codes);
      return weight.name();
    }
    onnx::TensorProto proto;
    proto.set_name(node.output(0));
    *proto.mutable_dims() = weight.dims();
    --consumers_[weight.name()];
    store_codes(proto, codes);
    *graph_.add_initializer() = std::move(proto);
    return node.output(0);
  }

 private:
  onnx::TensorProto& initializer(const std::string& name) {
    return *graph_.mutable_initializer(initializers_.at(name));
  }

  onnx::GraphProto& graph_;
  std::unordered_map<std::string, int> initializers_;
  std::unordered_map<std::string, int> consumers_;
};

}  // namespace

void store_int8_weights(onnx::GraphProto& graph) {
  WeightStore constants(graph);
  std::unordered_map<std::string, std::string> renamed;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> left;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (is_quantize(node) && constants.is_constant(node.input(0))) {
      renamed[node.output(0)] = constants.store(node);
      continue;
    }
    for (std::string& input : *node.mutable_input()) {
      const auto found = renamed.find(input);
      if (found != renamed.end()) input = found->second;
    }
    left.Add()->Swap(&node);
  }
  graph.mutable_node()->Swap(&left);
}

}  // namespace octet::io
