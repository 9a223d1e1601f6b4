// What an operator sees of its node: inputs, attributes, and how to refuse.
// Inputs are shared with other nodes and with the file's constants: read only.
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

using Dims = std::vector<int64_t>;
/// What a node makes, in the order of its outputs. Optional ones at the end
/// may be missing.
using Values = std::vector<Tensor>;

/// The most that one value may take.
inline constexpr int64_t kMostBytes = int64_t{1} << 31;

class NodeContext {
 public:
  /// Refers to all of it. Inputs that are left out are empty tensors.
  NodeContext(const onnx::NodeProto& node, int64_t opset,
              std::span<const Tensor> inputs, Budget& budget)
      : node_(node), opset_(opset), inputs_(inputs), budget_(budget) {}

  /// The same node with other inputs, as of another opset. Refers to them.
  NodeContext with_inputs(std::span<const Tensor> inputs, int64_t opset) const {
    return {node_, opset, inputs, budget_};
  }

  const std::string& type() const { return node_.op_type(); }
  int64_t opset() const { return opset_; }
  std::span<const Tensor> inputs() const { return inputs_; }
  bool has_input(size_t i) const;
  /// Throws: FormatError if it is left out.
  const Tensor& input(size_t i) const;
  /// A scalar or list of int32 or int64. Throws: FormatError for others.
  Dims integers_of(size_t i) const;
  /// Outputs that the node names, with gaps.
  size_t output_count() const;
  bool wants(size_t output) const;

  bool has_attribute(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  float number(const std::string& name, float otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;
  Dims integers(const std::string& name, const Dims& otherwise = {}) const;
  std::vector<float> numbers(const std::string& name) const;
  /// Null if it is missing.
  const onnx::TensorProto* tensor(const std::string& name) const;
  /// A list that became an input with `opset`: input `i`, or the attribute
  /// `name` before. Empty if it is missing.
  Dims integers_since(int64_t opset, size_t i, const std::string& name) const;

  /// An axis of a tensor of `rank` dimensions, counted from the front.
  /// Throws: FormatError unless it is in [-rank, rank).
  int axis(int64_t axis, int64_t rank) const;

  /// A tensor whose size a file decides. Its contents are undefined.
  /// Throws: FormatError for more than kMostBytes or than the run has left,
  /// dimensions below 0 or more of them than a Shape has, or when the time is
  /// over.
  Tensor make(const Dims& dims, DType type) const;
  /// Says that a tensor of make() is about to go, so that another one has room.
  void unmake(const Tensor& made) const;
  /// The same elements under other dimensions. Throws: FormatError for another
  /// number of elements.
  Tensor reshaped(const Tensor& x, const Dims& dims) const;

  /// For what takes long; any thread may call it. Throws: FormatError if the
  /// time of the run is over.
  void check_time() const;

  /// Throws FormatError: "node 'conv1' (Conv): <problem>".
  [[noreturn]] void refuse(const std::string& problem) const;
  [[noreturn]] void refuse_type(DType type) const;
  /// Throws UnsupportedError for what the standard has and Octet has not.
  [[noreturn]] void unsupported(const std::string& problem) const;

 private:
  void check_size(const Dims& dims, DType type) const;

  const onnx::NodeProto& node_;
  int64_t opset_;
  std::span<const Tensor> inputs_;
  Budget& budget_;
};

Dims dims_of(const Tensor& tensor);

/// Calls body(T()) for the one of the types Ts that `type` is.
/// Throws: FormatError if it is another.
template <class T, class... Ts, class Body>
auto visit(const NodeContext& context, DType type, const Body& body) {
  if (type == DTypeOf<T>::value) return body(T());
  if constexpr (sizeof...(Ts) > 0) {
    return visit<Ts...>(context, type, body);
  } else {
    context.refuse_type(type);
  }
}

/// The same for all types of numbers.
template <class Body>
auto visit_number(const NodeContext& context, DType type, const Body& body) {
  return visit<float, int8_t, uint8_t, int32_t, int64_t>(context, type, body);
}

/// The same for all types.
template <class Body>
auto visit_any(const NodeContext& context, DType type, const Body& body) {
  return visit<float, int8_t, uint8_t, int32_t, int64_t, bool>(context, type,
                                                               body);
}

}  // namespace octet::io::run
