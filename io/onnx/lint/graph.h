// A Q/DQ graph for rules: pairs, values that depend on constants only,
// operators that commute with quantization, and fusions of weighted layers.
// Internal to io/onnx/lint.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/quant/detail/fusion_rules.h>

#include "onnx/graph/graph.h"

namespace octet::io::lint {

using Node = OnnxNode;
using quant::FusionKind;

/// Conv, ConvTranspose, Gemm, MatMul.
bool is_weighted(const Node& node);
bool is_convolution(const Node& node);

/// Returns the attribute `axis` of a Q or DQ of a tensor, non-negative if it is
/// in range.
int64_t axis_of(const Node& node, size_t rank);

/// A weighted layer and the nodes fused with it.
struct Fusion {
  std::vector<const Node*> nodes;  ///< the layer first
  std::string output;              ///< output of the last node
};

/// Constant input of a Q with constant scales, or of a DQ: stored quantized
/// values.
struct QuantizedConstant {
  const Node* node;  ///< the Q, or the DQ
  std::vector<int64_t> dims;
  std::vector<double> values;
  std::vector<double> scales;
  size_t inner = 1;  ///< adjacent elements that share a scale

  const std::string& tensor() const { return node->input(0); }
  size_t scale_of(size_t i) const {
    return scales.size() == 1 ? 0 : i / inner % scales.size();
  }
};

class LintGraph : public OnnxGraph {
 public:
  using Node = OnnxNode;
  using Value = std::string;

  /// REQUIRES: shapes have been inferred.
  explicit LintGraph(onnx::ModelProto model);

  const std::list<OnnxNode>& all_nodes() const { return OnnxGraph::nodes(); }

  bool is_input(const std::string& value) const;
  /// Depends on constants only.
  bool is_constant(const std::string& value) const;
  /// Returns a constant, also behind Cast and Identity; or null.
  const onnx::TensorProto* moved_constant(const std::string& value) const;
  /// Returns the elements of such a constant; nothing if it is computed or of a
  /// type that Octet does not support.
  std::optional<std::vector<double>> numbers(const std::string& value) const;

  /// Return the parameters of a Q or DQ; nothing if the graph computes them.
  std::optional<std::vector<double>> scales(const Node& node) const;
  std::optional<std::vector<double>> zero_points(const Node& node) const;
  /// Returns nothing if values or scales are computed or do not fit.
  std::optional<QuantizedConstant> quantized_constant(const Node& node) const;
  /// Returns the type of the quantized values of a Q or DQ.
  int32_t quantized_type(const Node& node) const;
  /// Whether a single scale applies to the whole tensor.
  bool is_per_tensor(const Node& node) const;
  /// Whether scales and zero points are constants of supported types.
  bool has_qparams(const Node& node) const;
  /// Whether all zero points are constants of 0, or there are none.
  bool is_symmetric(const Node& node) const;
  /// Whether both have the same constant scales and zero points.
  bool same_qparams(const Node& a, const Node& b) const;

  /// Whether the node commutes exactly with symmetric quantization: Transpose,
  /// Reshape, MaxPool, a Pad of zeros, ...
  bool commutes(const Node& node) const;

  /// Returns the DQ of a value, also before commuting operators; or null.
  const Node* dequantizer(const std::string& value) const;
  /// Returns the Q of a DQ, also before commuting operators; or null.
  const Node* quantizer(const Node& dequantize) const;
  /// Returns the consumers that are Q.
  std::vector<const Node*> quantizers_of(const std::string& value) const;
  /// Whether all consumers of a value are Q, also after commuting operators;
  /// false for graph outputs.
  bool is_quantized(const std::string& value) const;

  /// Whether the first two inputs of a weighted layer are dequantized.
  bool reads_int8(const Node& layer) const;

  /// REQUIRES: is_weighted(layer).
  const Fusion& fusion(const Node& layer) const;
  /// Returns the weighted layer with which a node is fused, or null.
  const Node* fused_with(const Node& node) const;

  /// Returns the index of the weight input; nothing for a product of two
  /// activations.
  std::optional<int> weight_index(const Node& layer) const;
  /// Returns the DQ of a weighted layer's constant weight, or null.
  const Node* weight_dequantizer(const Node& layer) const;
  /// Returns the shape of a convolution; nothing if its weight's is unknown.
  std::optional<ConvolutionShape> convolution(const Node& layer) const;

  const quant::Fusions<lint::Node>& fusions() const { return *fusions_; }
  /// Whether any node of a layer's fusion is of a kind that satisfies `is`.
  template <class Is>
  bool has_fused(const Node& layer, Is is) const {
    return std::ranges::any_of(
        fusion(layer).nodes, [&](const Node* node) { return is(kind(*node)); });
  }

  // A quant::FusionGraph of the nodes that depend on inputs.
  std::vector<const Node*> nodes() const;
  FusionKind kind(const Node& node) const;
  FusionKind epilogue(const Node&) const { return FusionKind::other; }
  size_t input_count(const Node& node) const;
  const std::string& input(const Node& node, size_t index) const;
  int64_t uses(const Node& node) const { return uses(node.output(0)); }
  using OnnxGraph::uses;
  uint64_t position(const Node& node) const { return positions_.at(&node); }
  bool broadcasts(const Node& node) const;

 private:
  void follow_pairs();
  void find_fusions();

  std::unordered_set<std::string> constants_;
  // By value: its DQ and Q, also before commuting operators.
  std::unordered_map<std::string, const Node*> dequantizers_;
  std::unordered_map<std::string, const Node*> quantizers_;
  std::unordered_set<std::string> quantized_;  // see is_quantized()
  std::unordered_map<const Node*, uint64_t> positions_;
  std::optional<quant::Fusions<lint::Node>> fusions_;
  std::unordered_map<const Node*, Fusion> kernels_;  // by linear layer
};

}  // namespace octet::io::lint
