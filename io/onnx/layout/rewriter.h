// Rewriter: replaces the nodes and constants of an exported model by nodes in
// the assigned axis orders. Internal to io/onnx/layout.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/runtime/tensor.h>

#include "onnx/export/deferred_initializers.h"
#include "onnx/layout/assign.h"
#include "onnx/layout/block_move.h"
#include "onnx/layout/graph.h"
#include "unique_names.h"

namespace octet::io::layout {

class Rewriter {
 public:
  Rewriter(const LayoutGraph& graph, onnx::ModelProto& model,
           LargeConstants& large)
      : graph_(graph), proto_(*model.mutable_graph()), large_(large) {}

  AddedNodes run();

 private:
  class NodeEdit;
  struct Place {  ///< the input for which nodes are added
    std::string consumer;
    std::string base;  ///< name for the last added node
    /// The last original reshape, if any.
    const onnx::NodeProto* reshape = nullptr;
    int index = 0;  ///< of the original node whose place the added ones take
  };

  void choose_kept_nodes();
  void reserve_names();
  void add(const LayoutNode& node);
  /// Adds the nodes that rearrange an input, or emits the original ones.
  /// Returns the name of the rearranged value.
  std::string input_of(const LayoutNode& node, size_t input);
  bool is_permuted(const LayoutNode& node, size_t input) const;
  bool keeps_nodes(const LayoutNode& node, size_t input);
  std::string keep(const LayoutOperand& operand);
  /// Adds Q and DQ of a value; channels become axis `channels` unless that is
  /// nothing. Returns their output.
  std::string quantized(std::span<const int> quantizers, std::string value,
                        std::optional<int> channels = {});
  std::string quantized(int index, const std::string& value,
                        std::optional<int> channels);
  std::string rearranged(const LayoutOperand& operand, const AxisLayout& layout,
                         const Place& place);
  std::string transposed(const std::string& value, const std::string& key,
                         const AxisLayout& layout, const Place& place);
  std::string constant(const std::string& root, const Rearrangement& moves);
  std::string reshape(const std::string& value, const std::vector<Dim>& dims,
                      const std::string& name, const Place& place);
  std::string final_reshape(const std::string& value,
                            const std::vector<Dim>& from,
                            const std::vector<Dim>& to, const Place& place);
  std::string reshape_by(const std::string& value, const std::string& sizes,
                         const std::string& name, const Place& place);
  /// Adds a node with a new output, and returns the output.
  std::string add_movement(onnx::NodeProto node, const Place& place);
  std::string integers(const std::string& name,
                       const std::vector<int64_t>& values);
  /// Returns the constant after the rearrangement.
  std::string constant_of(const LayoutOperand& operand,
                          const AxisLayout& layout);
  const LayoutNode* bias_of(const LayoutNode& product) const;
  void push(onnx::NodeProto node, int index);
  void sort_nodes();
  void exchange_port_axes(const LayoutNode& node);
  Tensor value_of(const std::string& constant) const;
  std::string move_blocks(const std::string& value, const BlockMove& move,
                          const Place& place);
  void add_output(const LayoutNode& node, const std::string& name);
  void rename(const std::string& value, const std::string& name);
  void drop_unused_constants(
      const std::unordered_set<std::string>& consumed_before);
  void replace_constants();
  bool is_port(const std::string& value) const {
    return std::ranges::any_of(proto_.output(), [&](const auto& port) {
      return port.name() == value;
    });
  }
  std::string stored_name(const std::string& root) const {
    const auto found = stored_names_.find(root);
    return found == stored_names_.end() ? root : found->second;
  }

  const LayoutGraph& graph_;
  onnx::GraphProto& proto_;
  LargeConstants& large_;
  std::vector<onnx::NodeProto> nodes_;
  std::vector<int> indices_;  ///< of the original nodes at the places of nodes_
  UniqueNames node_names_, value_names_;
  /// Original rearrangements that stay: the operands, and by its output the
  /// operand that a Transpose belongs to.
  std::unordered_set<const LayoutOperand*> kept_;
  std::unordered_map<std::string, const LayoutOperand*> kept_transposes_;
  std::unordered_set<int> emitted_;  ///< indices of added movements and Q/DQ
  std::unordered_set<const LayoutNode*> absorbed_;  ///< not added
  std::unordered_map<std::string, int> places_;     ///< of values, as indices_
  /// Outputs of Q and DQ, by input, node and axis.
  std::unordered_map<std::string, std::string> quantized_;
  /// Outputs of added or kept rearrangements, by input, split and order; then
  /// also by final sizes.
  std::unordered_map<std::string, std::string> transposed_, reshaped_;
  std::unordered_map<std::string, std::vector<Dim>> transposed_dims_;
  std::unordered_map<std::string, std::string> constants_;
  std::unordered_map<std::string, std::string> stored_names_;
  /// New constants, and the original ones whose names and places they take if
  /// these have no other consumers.
  std::vector<std::pair<std::string, std::string>> replacements_;
  AddedNodes added_;
};

/// Returns the sizes for a Reshape, -1 for the batch.
std::vector<int64_t> sizes_of(const std::vector<Dim>& dims);

/// Returns the operations that compute the logical tensor: a Transpose of the
/// stored axes if possible.
Rearrangement moves_of(const AxisLayout& layout);

/// Returns a key for the split and order of a rearrangement.
std::string key_of(const Rearrangement& moves);

/// Returns the names of the inputs of all nodes.
std::unordered_set<std::string> consumed_in(const onnx::GraphProto& graph);

}  // namespace octet::io::layout
