// Rewriter: replaces the nodes and constants of an exported model by nodes in
// the assigned axis orders. Internal to io/onnx/layout.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/runtime/tensor.h>

#include "onnx/export/deferred_initializers.h"
#include "onnx/layout/block_move.h"
#include "onnx/layout/graph.h"
#include "unique_names.h"

namespace octet::io::layout {

class Rewriter {
 public:
  Rewriter(const Graph& graph, onnx::ModelProto& model, LargeConstants& large)
      : graph_(graph), proto_(*model.mutable_graph()), large_(large) {}

  /// Returns the added nodes; see minimize_transposes().
  std::unordered_map<std::string, std::string> run();

 private:
  class NodeEdit;
  struct Place {  ///< the input for which nodes are added
    std::string consumer;
    std::string base;  ///< name for the last added node
    /// The last original node if it is a Reshape.
    const onnx::NodeProto* reshape = nullptr;
  };

  void choose_kept_nodes();
  void reserve_names();
  void add(const Node& node);
  /// Adds the nodes that rearrange an input, or emits the original ones.
  /// Returns the name of the rearranged value.
  std::string input_of(const Node& node, size_t input);
  bool is_permuted(const Node& node, size_t input) const;
  bool keeps_nodes(const Node& node, size_t input);
  std::string keep(const Operand& operand);
  std::string rearranged(const std::string& root, const Rearrangement& moves,
                         const AxisLayout& layout, const Place& place);
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
  std::string floats(const std::string& name, const std::vector<float>& values,
                     const std::vector<int64_t>& sizes);
  Tensor value_of(const std::string& constant) const;
  std::string move_blocks(const std::string& value, const BlockMove& move,
                          const Place& place);
  void add_output(const Node& node, const std::string& name);
  void rename(const std::string& value, const std::string& name);
  void drop_unused_constants(
      const std::unordered_set<std::string>& consumed_before);
  std::string stored_name(const std::string& root) const {
    const auto found = stored_names_.find(root);
    return found == stored_names_.end() ? root : found->second;
  }

  const Graph& graph_;
  onnx::GraphProto& proto_;
  LargeConstants& large_;
  std::vector<onnx::NodeProto> nodes_;
  UniqueNames node_names_, value_names_;
  /// Original rearrangements that stay: the operands, and by its output the
  /// operand that a Transpose belongs to.
  std::unordered_set<const Operand*> kept_;
  std::unordered_map<std::string, const Operand*> kept_transposes_;
  std::unordered_set<int> emitted_;  ///< indices of kept nodes
  /// Outputs of added or kept rearrangements, by input, split and order; then
  /// also by final sizes.
  std::unordered_map<std::string, std::string> transposed_, reshaped_;
  std::unordered_map<std::string, std::vector<Dim>> transposed_dims_;
  std::unordered_map<std::string, std::string> constants_;
  std::unordered_map<std::string, std::string> stored_names_;
  std::unordered_map<std::string, std::string> added_;
};

/// Returns the sizes for a Reshape, -1 for the batch.
std::vector<int64_t> sizes_of(const std::vector<Dim>& dims);

/// Returns a key for the split and order of a rearrangement.
std::string key_of(const Rearrangement& moves);

/// Returns the names of the inputs of all nodes.
std::unordered_set<std::string> consumed_in(const onnx::GraphProto& graph);

}  // namespace octet::io::layout
