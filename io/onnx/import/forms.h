// What exporters take apart, put together again: nodes become one of the
// operator that a newer opset has for them. Internal to io/onnx/import.
#pragma once

#include "graph.h"

namespace octet::io::importing {

/// The attribute of a LayerNormalization whose statistics are those of one
/// axis, whatever follows it.
inline constexpr const char* kOverOneAxis = "over_one_axis";

/// The attribute of a GroupNormalization whose scale and bias are of channels,
/// in any opset.
inline constexpr const char* kFromParts = "from_parts";

/// - InstanceNormalization of a Reshape, and a Reshape back:
///   GroupNormalization, with kFromParts, Mul and Add behind it its scale and
///   bias; x * tanh(softplus(x)): Mish;
/// - Add of a constant to a convolution or product with a weight: its bias, the
///   third input, also of MatMul;
/// - Where with a constant condition that chooses minus infinity, or a number
///   so low that what is added to it is lost: Add of a mask;
/// - Mul and Add of constants: one Add, the factor as third input;
/// - x * sigmoid(x): Swish; x * hard_sigmoid(x), also as Clip: HardSwish; Clip
///   of that kind alone: HardSigmoid;
/// - x / 2 * (1 + erf(x / sqrt(2))) in any order: Gelu, also where tanh stands
///   for erf;
/// - x / max(|x|, 1e-12): UnitNormalization, with the sizes that the length was
///   expanded to as second input;
/// - the mean taken off and the deviation divided by: LayerNormalization, with
///   kOverOneAxis.
/// REQUIRES: constants are folded.
void recognise_forms(ImportGraph& graph);

/// One node and those before it, while a form is looked for.
class FormMatch {
 public:
  FormMatch(ImportGraph& graph, ImportNode& anchor)
      : graph_(graph), anchor_(anchor) {}

  ImportNode& anchor() const { return anchor_; }
  ImportGraph& graph() const { return graph_; }

  /// The maker of a value that only the form reads, if it is such a node; it is
  /// a part then. A value that the form reads twice has two uses.
  ImportNode* part(const std::string& value, const char* op, int64_t uses = 1);
  /// Input `number` of a node, and of two the other one.
  static const std::string& input(const ImportNode& node, int number);
  /// The input of two that a constant of one number is near, by its number;
  /// else -1.
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

// Each looks whether a node is the last one of its form.
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
