// Graph of an exported model for layout assignment: Transpose, Reshape,
// Flatten, Squeeze and Unsqueeze are not nodes, but rearrangements between a
// value and its consumer. Q/DQ are not nodes either, so that they never change
// the order of a value. Those before the Transpose of an operator with the
// channels as axis 1 quantize the rearranged value, next to that operator.
// Internal to io/onnx.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/layers/detail/axis_layout.h>

#include "onnx/layout/rules.h"

namespace octet::io::layout {

/// A Transpose (axis i of the output is axis perm[i] of the input), or a
/// reshape to these sizes.
using Step = std::variant<std::vector<int>, std::vector<Dim>>;

/// An input of a node: a value that is not the output of a rearrangement or of
/// Q/DQ, and the rearrangements and Q/DQ between it and the node.
struct LayoutOperand {
  std::string root;
  /// The last step may have no node in `movements`: a reshape that adds leading
  /// axes of size 1 for broadcasting.
  std::vector<Step> steps = {};
  std::vector<int> movements = {};   ///< indices of the nodes in proto()
  std::vector<int> quantizers = {};  ///< indices of Q and DQ in proto()
  /// Number of quantizers that precede the Transpose or Reshape of a layer. The
  /// others follow it.
  size_t leading = 0;
  /// Whether scales vary along an axis, as in a constant without steps.
  bool per_channel = false;
};

/// A node other than a rearrangement and Q/DQ, or an input or output of the
/// graph.
struct LayoutNode {
  int index = -1;  ///< in proto(); -1 for inputs and outputs of the graph
  std::string port = {};  ///< name of the input or output
  std::vector<LayoutOperand> inputs = {};
  std::vector<std::string> outputs = {};
  std::optional<Rule> rule = {};  ///< nothing if the axes are fixed
  /// Factors of axis 1 of a matrix that `order` may permute, at least 2; empty
  /// otherwise.
  std::vector<Dim> features = {};
  Order order = {};  ///< of the node's axes; with features, of axis 0 and these
  bool in_sequence = false;  ///< set by mark_sequences()

  bool permits(const Order& other) const {
    if (!features.empty()) return other[0] == 0;
    return rule->permits(other) || is_convolution(other);
  }
  /// Whether the node becomes a convolution in an order.
  bool is_convolution(const Order& other) const {
    return in_sequence && rule->as_convolution && other == Order{0, 2, 1};
  }
};

/// A value of the original graph, in its original order.
struct LayoutValue {
  std::optional<std::vector<Dim>> dims = {};  ///< nothing if a size is unknown
  std::vector<Dim> features = {};             ///< the producer's features
  int producer = -1;  ///< index in nodes(); -1 for fixed inputs and constants
  bool is_constant = false;
  /// Consumers, also behind rearrangements: indices of node and input.
  std::vector<std::pair<int, int>> uses = {};
};

/// Refers to the model, which must outlive it. Only the orders of the nodes
/// change after construction.
class LayoutGraph {
 public:
  /// REQUIRES: shapes have been inferred; nodes are in topological order.
  explicit LayoutGraph(const onnx::ModelProto& model);
  LayoutGraph(const LayoutGraph&) = delete;
  LayoutGraph& operator=(const LayoutGraph&) = delete;

  const onnx::GraphProto& proto() const { return proto_; }
  std::vector<LayoutNode>& nodes() { return nodes_; }
  const std::vector<LayoutNode>& nodes() const { return nodes_; }
  const LayoutValue& value(const std::string& name) const {
    return values_.at(name);
  }
  const onnx::TensorProto& constant(const std::string& name) const {
    return *constants_.at(name);
  }

  /// Returns the order in which a value is stored, given the nodes' orders.
  Order stored_order(const std::string& value) const;
  /// Returns the layout of an operand in the node's order; nothing if sizes are
  /// unknown, in which case the value and the node keep their original orders.
  std::optional<AxisLayout> layout(const LayoutNode& node, size_t input) const;
  /// Returns the layout of an operand in its original order if its root is
  /// stored in the order `stored`, with features as separate axes.
  std::optional<AxisLayout> layout(const LayoutOperand& operand,
                                   const Order& stored) const;
  /// Returns the layout with the features of a node as separate axes; nothing
  /// if they are not products of its factors.
  static std::optional<AxisLayout> with_features(const LayoutNode& node,
                                                 const AxisLayout& layout);

 private:
  void add_value(const onnx::ValueInfoProto& info);
  void add_port(const std::string& name, bool is_output);
  void add_node(int index);
  LayoutOperand operand(const std::string& input) const;
  std::optional<Step> step(const onnx::NodeProto& node) const;
  bool add_quantizer(int index);
  void append(LayoutNode node);
  void align_ranks(LayoutNode& node) const;
  std::vector<Dim> features_of(const LayoutNode& node) const;

  const onnx::GraphProto& proto_;
  int64_t opset_;
  ValueLookup lookup_;
  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  /// First inputs of operators with the channels as axis 1.
  std::unordered_set<std::string> channel_inputs_;
  std::vector<LayoutNode> nodes_;
  std::unordered_map<std::string, LayoutValue> values_;
  /// Operands by the output of their last rearrangement or Q/DQ.
  std::unordered_map<std::string, LayoutOperand> moved_;
};

}  // namespace octet::io::layout
