// Graph of an exported model for layout assignment: Transpose, Reshape,
// Flatten, Squeeze and Unsqueeze are not nodes, but rearrangements between a
// value and its consumer. Internal to io/onnx.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/layers/axis_layout.h>

#include "onnx/layout/rules.h"

namespace octet::io::layout {

/// A Transpose (axis i of the output is axis perm[i] of the input), or a
/// reshape to these sizes.
using Step = std::variant<std::vector<int>, std::vector<Dim>>;

/// An input of a node: a value that is not the output of a rearrangement, and
/// the rearrangements between it and the node.
struct Operand {
  std::string root;
  /// The last step may have no node in `movements`: a reshape that adds leading
  /// axes of size 1 for broadcasting.
  std::vector<Step> steps = {};
  std::vector<int> movements = {};  ///< indices of the nodes in proto()
};

/// A node other than a rearrangement, or an output of the graph.
struct Node {
  int index = -1;  ///< in proto(); -1 for an output
  std::vector<Operand> inputs = {};
  std::optional<Rule> rule = {};  ///< nothing if the axes are fixed
  Order order = {};               ///< of the node's axes
};

/// A value of the original graph, in its original order.
struct Value {
  std::optional<std::vector<Dim>> dims = {};  ///< nothing if a size is unknown
  int producer = -1;  ///< index in nodes(); -1 for inputs and constants
  bool is_constant = false;
  /// Consumers, also behind rearrangements: indices of node and input.
  std::vector<std::pair<int, int>> uses = {};
};

/// Refers to the model, which must outlive it. Only the orders of the nodes
/// change after construction.
class Graph {
 public:
  /// REQUIRES: shapes have been inferred; nodes are in topological order.
  explicit Graph(const onnx::ModelProto& model);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const onnx::GraphProto& proto() const { return proto_; }
  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Value& value(const std::string& name) const { return values_.at(name); }
  const onnx::TensorProto& constant(const std::string& name) const {
    return *constants_.at(name);
  }

  /// Returns the order in which a value is stored, given the nodes' orders.
  Order stored_order(const std::string& value) const;
  /// Returns the layout of an operand in the node's order; nothing if sizes are
  /// unknown, in which case the value and the node keep their original orders.
  std::optional<AxisLayout> layout(const Node& node, size_t input) const;
  /// Returns the layout of an operand in its original order if its root is
  /// stored in the order `stored`.
  std::optional<AxisLayout> layout(const Operand& operand,
                                   const Order& stored) const;

 private:
  void add_value(const onnx::ValueInfoProto& info);
  void add_node(int index);
  Operand operand(const std::string& input) const;
  std::optional<Step> step(const onnx::NodeProto& node) const;
  void append(Node node);

  const onnx::GraphProto& proto_;
  int64_t opset_;
  ValueLookup lookup_;
  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, Value> values_;
  /// Operands by the output of their last rearrangement.
  std::unordered_map<std::string, Operand> moved_;
};

}  // namespace octet::io::layout
