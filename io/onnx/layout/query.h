// What the rules of operators know about a node. Internal to io/onnx.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "onnx/graph_view.h"
#include "onnx/layout/rules.h"

namespace octet::io::layout {

struct Query {
  const onnx::NodeProto& node;
  const Surroundings& graph;
  int64_t opset;

  bool has_input(int input) const {
    return input < node.input_size() && !node.input(input).empty();
  }
  const std::vector<Dim>* dims(int input) const {
    return has_input(input) ? graph.dims(node.input(input)) : nullptr;
  }
  int rank(int input) const {
    const auto* sizes = dims(input);
    return sizes == nullptr ? -1 : static_cast<int>(sizes->size());
  }
  const onnx::TensorProto* constant(int input) const {
    return has_input(input) ? graph.constant(node.input(input)) : nullptr;
  }
};

/// Returns an integer attribute.
inline int64_t integer(const onnx::NodeProto& node, const char* name,
                       int64_t otherwise) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? otherwise : attribute->i();
}

inline bool keeps_batch_and_channels(const Order& order) {
  return order.size() > 1 && order[0] == 0 && order[1] == 1;
}

/// MatMul, and a 1x1 Conv, which is a product with a matrix in other orders.
std::optional<Rule> product(const Query& query);
std::optional<Rule> convolution(const Query& query);

}  // namespace octet::io::layout
