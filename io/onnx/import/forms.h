// Recomposition of operators that exporters decompose: several nodes become the
// operator of a newer opset. Internal to io/onnx/import.
#pragma once

#include "graph.h"

namespace octet::io::importing {

/// Attribute of a LayerNormalization over a single axis, which need not be the
/// last.
inline constexpr const char* kOverOneAxis = "over_one_axis";

/// Attribute of a GroupNormalization whose scale and bias are per channel in
/// any opset.
inline constexpr const char* kFromParts = "from_parts";

/// Recomposes:
/// - Reshape, InstanceNormalization, Reshape back: GroupNormalization, with
///   kFromParts; a following Mul and Add become its scale and bias;
/// - x * tanh(softplus(x)): Mish;
/// - Add of a constant to a convolution or product with a weight: its bias, the
///   third input, also of MatMul;
/// - Mul and Add of constants: an Add with the factor as third input;
/// - x * sigmoid(x): Swish; x * hard_sigmoid(x), also with Clip: HardSwish; the
///   Clip alone: HardSigmoid;
/// - x / 2 * (1 + erf(x / sqrt(2))) in any order: Gelu, also with tanh for erf;
/// - x / max(|x|, 1e-12): UnitNormalization, with the sizes to which the length
///   was expanded as second input;
/// - (x - mean) / deviation: LayerNormalization, with kOverOneAxis;
/// - Not of Equal: NotEqual, an internal operator.
/// REQUIRES: constants are folded.
void recognize_forms(ImportGraph& graph);

/// A candidate match: the last node of a form and the nodes before it.
class FormMatch {
 public:
  FormMatch(ImportGraph& graph, ImportNode& anchor)
      : graph_(graph), anchor_(anchor) {}

  ImportNode& anchor() const { return anchor_; }
  ImportGraph& graph() const { return graph_; }

  /// Returns the producer of a value and adds it to the match if it is an `op`
  /// and only the form consumes the value, `uses` times; otherwise null.
  ImportNode* part(const std::string& value, const char* op, int64_t uses = 1);
  /// Returns the name of input `number` of a node, or "" if it has fewer.
  static const std::string& input(const ImportNode& node, int number);
  /// Returns the input of a node with two inputs that is a constant close to
  /// `number`; -1 if there is none.
  int number_input(const ImportNode& node, double number) const;
  bool is_number(const std::string& value, double number) const;
  std::optional<float> number(const std::string& value) const;

  void replace_by(const char* op, std::vector<std::string> inputs);
  void replace_by(const onnx::NodeProto& node);

 private:
  ImportGraph& graph_;
  ImportNode& anchor_;
  std::vector<ImportNode*> parts_;
};

// Each replaces a form that ends at `node`. Returns false if there is none.
bool match_bias(ImportGraph& graph, ImportNode& node);
bool match_affine(ImportGraph& graph, ImportNode& node);
bool match_gated(ImportGraph& graph, ImportNode& node);
bool match_hard_sigmoid(ImportGraph& graph, ImportNode& node);
bool match_gelu(ImportGraph& graph, ImportNode& node);
bool match_group_normalization(ImportGraph& graph, ImportNode& node);
bool match_layer_normalization(ImportGraph& graph, ImportNode& node);
bool match_not_equal(ImportGraph& graph, ImportNode& node);
bool match_unit_normalization(ImportGraph& graph, ImportNode& node);

}  // namespace octet::io::importing
