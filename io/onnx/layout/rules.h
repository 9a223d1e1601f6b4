// Rules: the axis orders in which an operator computes equal values, and the
// edits of its attributes and constants for each order. Internal to io/onnx.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/layers/axis_layout.h>

namespace octet::io::layout {

/// Axis i of a permuted tensor is axis order[i] of the original one. Empty for
/// the original order.
using Order = std::vector<int>;

inline bool is_identity(const Order& order) {
  return std::ranges::is_sorted(order);
}

/// Access to the values of a graph by name.
struct ValueLookup {
  /// Sizes of a value, or null if unknown.
  std::function<const std::vector<Dim>*(const std::string& value)> dims;
  /// Initializer of a value, or null.
  std::function<const onnx::TensorProto*(const std::string& value)> constant;
  /// Producer of a value, or null.
  std::function<const onnx::NodeProto*(const std::string& value)> producer;
};

/// Changes a node for permuted axes.
class Edit {
 public:
  virtual ~Edit() = default;

  virtual onnx::NodeProto& node() = 0;
  /// Sets input `index`, or appends it, to a new int64 constant.
  virtual void set_list(int index, const std::vector<int64_t>& values) = 0;
  /// Rearranges the constant input `index`.
  virtual void set_constant(int index, const Rearrangement& moves) = 0;
  /// Returns the elements of the float32 constant input `index`.
  virtual std::vector<float> floats(int index) = 0;
  /// Appends a node with the output as first input and a new float32 constant
  /// as second input.
  virtual void append(const std::string& op, const std::vector<float>& values,
                      const std::vector<int64_t>& sizes) = 0;
};

/// How the axes of a node may be permuted.
struct Rule {
  int rank = 0;                   ///< of the permuted inputs
  std::vector<int> inputs = {};   ///< permuted inputs; others are parameters
  std::vector<int> removed = {};  ///< input axes that the outputs lack
  /// Whether an order preserves the computed values; empty if all do.
  std::function<bool(const Order& order)> allows = {};
  /// Rewrites the attributes and parameters; empty if they do not change.
  std::function<void(Edit& edit, const Order& order)> apply = {};

  bool permits(const Order& order) const { return !allows || allows(order); }
  /// Returns the order of the outputs' axes.
  Order output_order(const Order& order) const;
  /// Returns an order whose output_order() is `output`.
  Order order_for_output(const Order& output) const;
};

/// Returns the rule of a node; nothing if its axes are fixed.
std::optional<Rule> rule_of(const onnx::NodeProto& node,
                            const ValueLookup& values, int64_t opset);

/// Returns the elements of an int64 initializer; empty for other types.
std::vector<int64_t> integers_of(const onnx::TensorProto& tensor);

}  // namespace octet::io::layout
