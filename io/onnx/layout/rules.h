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

#include <octet/layers/detail/axis_layout.h>

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
  /// Initializer of a value, also before Q/DQ, or null.
  std::function<const onnx::TensorProto*(const std::string& value)> weight;
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
  /// Rearranges the constant or quantized weight `index`; its output channels
  /// become axis `channels`.
  virtual void set_weight(int index, const Rearrangement& moves,
                          int channels) = 0;
  /// Appends an operator with the output as first input and input `index`,
  /// which is removed and rearranged, as the second.
  virtual void append(const std::string& op, const std::string& name, int index,
                      const Rearrangement& moves) = 0;
  /// Appends the bias that the next node adds to axis 1 of the output, if
  /// there is one, as another input; that node disappears.
  virtual void absorb_bias() = 0;
  /// Inserts a Reshape of the first input, and one of the output.
  virtual void reshape_around(const std::vector<int64_t>& input,
                              const std::vector<int64_t>& output) = 0;
};

/// Whether the elements along axis 1 of a matrix may be permuted.
enum class Features {
  fixed,
  permuted,  ///< in inputs and outputs alike
  consumed,  ///< in inputs; the outputs do not change
};

/// How the axes of a node may be permuted.
struct Rule {
  int rank = 0;                   ///< of the permuted inputs
  std::vector<int> inputs = {};   ///< permuted inputs; others are parameters
  std::vector<int> removed = {};  ///< input axes that the outputs lack
  /// Whether an order preserves the computed values; empty if all do.
  std::function<bool(const Order& order)> allows = {};
  /// Whether the node becomes another operator in an order, or needs reshapes;
  /// empty if it never does.
  std::function<bool(const Order& order)> converts = {};
  /// Rewrites the node as a convolution, for sequences of convolutions, in the
  /// order {0,2,1}; empty if it cannot become one.
  std::function<void(Edit& edit)> as_convolution = {};
  Features features = Features::fixed;
  /// Rearranges the parameters for permuted features, as `features` rearranges
  /// a vector; empty if there are none.
  std::function<void(Edit& edit, const Rearrangement& features)> rearrange = {};
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
