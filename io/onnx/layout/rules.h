// Rules: which operators compute the same with permuted axes, and what changes
// in their attributes and constants. Internal to io/onnx.
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

/// What rules need to know about the graph.
struct Surroundings {
  /// Sizes of a value; null if unknown.
  std::function<const std::vector<Dim>*(const std::string& value)> dims;
  /// Initializer of a value, or null.
  std::function<const onnx::TensorProto*(const std::string& value)> constant;
  /// Node that computes a value, or null.
  std::function<const onnx::NodeProto*(const std::string& value)> producer;
};

/// Changes a node for permuted axes.
class Edit {
 public:
  virtual ~Edit() = default;

  virtual onnx::NodeProto& node() = 0;
  /// Makes an int64 list input `index`, which may be the next one.
  virtual void set_list(int index, const std::vector<int64_t>& values) = 0;
  /// Replaces the constant input `index`.
  virtual void set_constant(int index, const Rearrangement& moves) = 0;
  /// Elements of the float32 constant input `index`.
  virtual std::vector<float> floats(int index) = 0;
  /// Adds a node behind the node, whose second input is a float32 constant.
  virtual void append(const std::string& op, const std::vector<float>& values,
                      const std::vector<int64_t>& sizes) = 0;
};

/// How the axes of a node may be permuted.
struct Rule {
  int rank = 0;                   ///< of the permuted inputs
  std::vector<int> inputs = {};   ///< the permuted ones; others are parameters
  std::vector<int> removed = {};  ///< axes that the outputs lack
  /// Whether the node computes the same in that order; empty: in any.
  std::function<bool(const Order& order)> allows = {};
  /// Rewrites the attributes and parameters; empty: nothing to do.
  std::function<void(Edit& edit, const Order& order)> apply = {};

  bool permits(const Order& order) const { return !allows || allows(order); }
  /// Order of the outputs' axes.
  Order output_order(const Order& order) const;
  /// An order whose output_order() is `output`.
  Order order_for_output(const Order& output) const;
};

/// Returns the rule of a node; nothing if its axes are fixed.
std::optional<Rule> rule_of(const onnx::NodeProto& node,
                            const Surroundings& surroundings, int64_t opset);

/// Elements of an int64 initializer.
std::vector<int64_t> integers_of(const onnx::TensorProto& tensor);

}  // namespace octet::io::layout
