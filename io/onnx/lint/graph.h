// A Q/DQ graph as the rules look at it: pairs, what is rooted in constants,
// what may be moved past a quantizer, and what fuses with a weighted layer.
// Refers to the view, which must outlive it. Internal to io/onnx/lint.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include "../graph_view.h"

namespace octet::io::lint {

using Node = onnx::NodeProto;

/// A standard operator of one of these names.
bool is_op(const Node& node, std::initializer_list<std::string_view> names);
/// Conv, ConvTranspose, Gemm, MatMul.
bool is_weighted(const Node& node);
bool is_convolution(const Node& node);
/// What a kernel applies to its results before it writes them.
bool is_activation(const Node& node);

std::string name_of(const Node& node);

/// What a weighted layer and the nodes after it become.
struct Fusion {
  std::vector<const Node*> nodes;  ///< the layer first
  std::string output;              ///< the value that the last one makes
  bool has(std::initializer_list<std::string_view> names) const;
};

class LintGraph {
 public:
  explicit LintGraph(const GraphView& view);

  const GraphView& view() const { return view_; }
  const onnx::GraphProto& proto() const { return view_.graph(); }

  bool is_output(const std::string& value) const;
  bool is_input(const std::string& value) const;
  /// Made of constants alone, by whatever nodes.
  bool is_constant(const std::string& value) const;
  /// A constant, also behind Cast and Identity; or null.
  const onnx::TensorProto* constant(const std::string& value) const;
  /// The elements of such a constant as numbers; nothing if it is computed or
  /// of a type that Octet does not hold.
  std::optional<std::vector<double>> numbers(const std::string& value) const;

  /// Of a Q or DQ; nothing if the graph computes them.
  std::optional<std::vector<double>> scales(const Node& node) const;
  std::optional<std::vector<double>> zero_points(const Node& node) const;
  /// One scale for the whole tensor, whatever its shape.
  bool is_per_tensor(const Node& node) const;
  /// Whether its scales and zero points are constants that can be read.
  bool has_grid(const Node& node) const;
  /// Whether both have the same constant scales and zero points.
  bool same_grid(const Node& a, const Node& b) const;

  /// Commutes with symmetric quantization: Transpose, Reshape, MaxPool, a Pad
  /// of zeros, ...
  bool commutes(const Node& node) const;

  /// The DQ that a value comes from, behind what commutes; or null.
  const Node* dequantizer(const std::string& value) const;
  /// The Q that feeds a DQ, behind what commutes; or null.
  const Node* quantizer(const Node& dequantize) const;
  /// The readers that are Q.
  std::vector<const Node*> quantizers_of(const std::string& value) const;
  /// Whether everything that reads a value reads it through Q, which may come
  /// after what commutes; false for an output of the graph.
  bool is_quantized(const std::string& value) const;

  /// Whether the first two inputs of a weighted layer come from DQ.
  bool reads_int8(const Node& layer) const;

  /// The weighted layer whose results a value is, with what fuses between; or
  /// null.
  const Node* producer(const std::string& value) const;
  /// REQUIRES: is_weighted(layer).
  const Fusion& fusion(const Node& layer) const;
  /// The weighted layer that an Add or another node is fused with, or null.
  const Node* fused_with(const Node& node) const;

  /// The input that holds the weights of a MatMul or another product; nothing
  /// for a product of two activations.
  std::optional<int> weight_index(const Node& layer) const;

 private:
  Fusion fuse(const Node& layer) const;
  void follow_pairs();

  const GraphView& view_;
  std::unordered_set<std::string> outputs_;
  std::unordered_set<std::string> constants_;
  // By value: the DQ and the Q that it comes from, behind what commutes.
  std::unordered_map<std::string, const Node*> dequantizers_;
  std::unordered_map<std::string, const Node*> quantizers_;
  std::unordered_set<std::string> quantized_;  // see is_quantized()
  std::unordered_map<const Node*, Fusion> fusions_;
  std::unordered_map<const Node*, const Node*> fused_with_;
};

}  // namespace octet::io::lint
