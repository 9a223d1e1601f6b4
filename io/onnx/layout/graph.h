// The graph of an exported model as layout assignment sees it: Reshape and
// Transpose nodes are no nodes, but rearrangements between a value and its
// consumer. Internal to io/onnx.
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

/// A Transpose (axis i of the output is axis perm[i] of the input) or a reshape
/// to sizes.
using Step = std::variant<std::vector<int>, std::vector<Dim>>;

/// An input of a node: the output of the last node that is no rearrangement,
/// and the rearrangements behind it.
struct Operand {
  std::string root;
  std::vector<Step> steps = {};
  std::vector<int> movements = {};  ///< their nodes, as indices
};

/// A node that computes, or an output of the graph.
struct Node {
  int index = -1;  ///< in the graph; -1 for an output
  std::vector<Operand> inputs = {};
  std::optional<Rule> rule = {};  ///< if its axes may be permuted
  Order order = {};               ///< of the node's axes
};

/// A value of the original graph, in its original order.
struct Value {
  std::optional<std::vector<Dim>> dims = {};  ///< if all sizes are known
  int producer = -1;  ///< in nodes(); -1 for inputs and constants
  bool is_constant = false;
  /// Nodes and input indices that consume the value, through rearrangements.
  std::vector<std::pair<int, int>> uses = {};
};

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

  /// Order in which a value is stored, for the orders of the nodes.
  Order stored_order(const std::string& value) const;
  /// Layout of an operand in the node's order. Nothing if sizes are unknown:
  /// then the value and the node have their original orders.
  std::optional<AxisLayout> layout(const Node& node, size_t input) const;
  std::optional<AxisLayout> layout(const Operand& operand,
                                   const Order& stored) const;

 private:
  void add_value(const onnx::ValueInfoProto& info);
  void add_node(int index);
  Operand operand(const std::string& input) const;
  std::optional<Step> step(const onnx::NodeProto& node) const;
  void finish(Node node);

  const onnx::GraphProto& proto_;
  int64_t opset_;
  Surroundings surroundings_;
  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  std::vector<Node> nodes_;
  std::unordered_map<std::string, Value> values_;
  /// Outputs of rearrangements.
  std::unordered_map<std::string, Operand> moved_;
};

}  // namespace octet::io::layout
