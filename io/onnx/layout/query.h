// Query: a node with the sizes and constants of its inputs, for rules. Internal
// to io/onnx.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <onnx/onnx_pb.h>

#include "onnx/graph/attributes.h"
#include "onnx/layout/rules.h"

namespace octet::io::layout {

struct Query {
  const onnx::NodeProto& node;
  const ValueLookup& values;
  int64_t opset;

  bool has_input(int input) const {
    return input < node.input_size() && !node.input(input).empty();
  }
  const std::vector<Dim>* dims(int input) const {
    return has_input(input) ? values.dims(node.input(input)) : nullptr;
  }
  int rank(int input) const {
    const auto* sizes = dims(input);
    return sizes == nullptr ? -1 : static_cast<int>(sizes->size());
  }
  const onnx::TensorProto* constant(int input) const {
    return has_input(input) ? values.constant(node.input(input)) : nullptr;
  }
  /// Returns a constant, also before Q/DQ.
  const onnx::TensorProto* weight(int input) const {
    return has_input(input) ? values.weight(node.input(input)) : nullptr;
  }
};

inline bool keeps_batch_and_channels(const Order& order) {
  return order.size() > 1 && order[0] == 0 && order[1] == 1;
}

inline bool moves_batch_or_channels(const Order& order) {
  return !keeps_batch_and_channels(order);
}

/// Return the rules of MatMul, of Gemm, and of a 1x1 Conv, which becomes a
/// MatMul if its channels move.
std::optional<Rule> product(const Query& query);
std::optional<Rule> gemm(const Query& query);
std::optional<Rule> convolution(const Query& query);

}  // namespace octet::io::layout
