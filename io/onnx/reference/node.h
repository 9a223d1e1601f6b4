// NodeContext: inputs, attributes and errors of a node for its operator. Inputs
// are shared with other nodes and the file's constants: read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/runtime/tensor.h>

#include "budget.h"

namespace octet::io::run {

using Sizes = std::vector<int64_t>;
/// Outputs of a node in order. Trailing optional ones may be missing.
using Values = std::vector<Tensor>;

/// Maximum size of a value.
inline constexpr int64_t kMostBytes = int64_t{1} << 31;

class NodeContext {
 public:
  /// Refers to its arguments. Absent inputs are empty tensors.
  NodeContext(const onnx::NodeProto& node, int64_t opset,
              std::span<const Tensor> inputs, Budget& budget)
      : NodeContext(node, opset, inputs, budget, node) {}

  /// Returns the context of a node that computes a part of this one. Errors
  /// name this node.
  NodeContext inner(const onnx::NodeProto& node, int64_t opset,
                    std::span<const Tensor> inputs) const {
    return {node, opset, inputs, budget_, reported_};
  }

  const onnx::NodeProto& node() const { return node_; }
  int64_t opset() const { return opset_; }
  Budget& budget() const { return budget_; }
  std::span<const Tensor> inputs() const { return inputs_; }
  bool has_input(size_t i) const;
  /// Throws: FormatError if it is absent.
  const Tensor& input(size_t i) const;
  /// A scalar or list of int32 or int64. Throws: FormatError for others.
  Sizes integers_of(size_t i) const;
  /// Number of outputs, including unnamed ones.
  size_t output_count() const;
  bool wants(size_t output) const;

  bool has_attribute(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  float number(const std::string& name, float otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  Sizes integers(const std::string& name, const Sizes& otherwise = {}) const;
  /// A list that became an input with `opset`: input `i`, or before, the
  /// attribute `name`. Empty if absent.
  Sizes integers_since(int64_t opset, size_t i, const std::string& name) const;
  /// The axes of a reduction, Squeeze or Unsqueeze; empty if absent.
  Sizes axes() const;

  /// Returns a non-negative axis of a tensor of `rank` dimensions.
  /// Throws: FormatError unless it is in [-rank, rank).
  int axis(int64_t axis, int64_t rank) const;

  /// Allocates a tensor whose size depends on the file, uninitialized.
  /// Throws: FormatError for more than kMostBytes or the remaining memory, for
  /// negative or too many dimensions, or after the deadline.
  Tensor make(const Sizes& dims, DType type) const;
  /// Announces that a tensor of make() will be freed, to make room for another.
  void unmake(const Tensor& made) const;
  /// Returns the same elements with other dimensions. Throws: FormatError for
  /// another number of elements.
  Tensor reshaped(const Tensor& x, const Sizes& dims) const;

  /// For long operators; thread-safe. Throws: FormatError after the deadline.
  void check_time() const;

  /// Throws FormatError: "node 'conv1' (Conv): <problem>".
  [[noreturn]] void refuse(const std::string& problem) const;
  [[noreturn]] void refuse_type(DType type) const;
  /// Throws UnsupportedError for valid nodes that Octet does not support.
  [[noreturn]] void unsupported(const std::string& problem) const;

 private:
  NodeContext(const onnx::NodeProto& node, int64_t opset,
              std::span<const Tensor> inputs, Budget& budget,
              const onnx::NodeProto& reported)
      : node_(node),
        reported_(reported),
        opset_(opset),
        inputs_(inputs),
        budget_(budget) {}
  void check_size(const Sizes& dims, DType type) const;

  const onnx::NodeProto& node_;
  const onnx::NodeProto& reported_;  // in errors
  int64_t opset_;
  std::span<const Tensor> inputs_;
  Budget& budget_;
};

Sizes sizes_of(const Tensor& tensor);

/// Returns input i. Throws: FormatError unless it is a single number.
template <class T>
T scalar(const NodeContext& context, size_t i) {
  const auto values = context.input(i).data<T>();
  if (values.size() != 1) {
    context.refuse("input " + std::to_string(i) +
                   " must be a single number, got " +
                   context.input(i).shape().to_string());
  }
  return values[0];
}

/// Calls body(T()) for the type T among Ts that equals `type`.
/// Throws: FormatError if there is none.
template <class T, class... Ts, class Body>
auto visit(const NodeContext& context, DType type, const Body& body) {
  if (type == DTypeOf<T>::value) return body(T());
  if constexpr (sizeof...(Ts) > 0) {
    return visit<Ts...>(context, type, body);
  } else {
    context.refuse_type(type);
  }
}

/// visit() for all numeric types.
template <class Body>
auto visit_number(const NodeContext& context, DType type, const Body& body) {
  return visit<float, int8_t, uint8_t, int32_t, int64_t>(context, type, body);
}

/// visit() for all types.
template <class Body>
auto visit_any(const NodeContext& context, DType type, const Body& body) {
  return visit<float, int8_t, uint8_t, int32_t, int64_t, bool>(context, type,
                                                               body);
}

}  // namespace octet::io::run
