// Patterns: chains of layers that a device runs as a single kernel, and the
// Q/DQ around them. Plain data: transform() tries a list in order, so put
// custom patterns first.
//
//   auto patterns = tensorrt_patterns();
//   patterns.insert(patterns.begin(),
//                   {.name = "FloatDepthwise",
//                    .steps = {{.classes = {"DepthwiseConv2D"}}},
//                    .rationale = "reformatting costs more than INT8 saves"});
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/layers/layer_def.h>

namespace octet::quant {

/// A call of a layer, as the argument of a condition.
struct PatternLayer {
  const GraphNode& node;
  /// Consumers of its output, looking through Dropout and the like.
  std::vector<const GraphNode*> consumers = {};
};

/// A predicate on a layer and its description.
struct Condition {
  std::string text;  ///< "a kernel of 7x7 on 3 channels"
  std::function<bool(const PatternLayer&)> holds;
};

/// A step of a chain: a layer of these classes, roles or functions.
struct PatternStep {
  std::vector<std::string> classes = {};  ///< or their Keras aliases
  std::vector<LayerRole> roles = {};
  /// Names of Activation functions. The option `activation` of the preceding
  /// layer also counts as a step: a chain whose next step accepts no activation
  /// ends there.
  std::vector<std::string> activations = {};
  bool optional = false;
  /// Required for the layer to fit the step.
  Condition only_if = {};
  /// If it holds, the match is listed with this text but not applied.
  Condition skip_if = {};
};

/// A Q/DQ position of a match.
enum class PatternPoint {
  input,           ///< inputs of the first layer
  residual_input,  ///< side inputs of later layers
  query,           ///< input 0 of the first layer
  key,             ///< input 1
  value,           ///< input 2
  output,          ///< after the last layer, unless a model output
};

/// Returns the name in the source documents: "INPUT", "RESIDUAL_INPUT", ...
std::string_view to_string(PatternPoint point);

struct Pattern {
  std::string name;
  /// From first to last layer. Intermediate outputs have no other consumers. A
  /// layer called several times matches alone.
  std::vector<PatternStep> steps;
  /// Empty: the layers remain float. Otherwise the chain's weights are
  /// quantized too.
  std::vector<PatternPoint> qdq_points = {};
  std::string rationale = {};
};

/// Returns the chains that TensorRT fuses, longest first.
/// Source: Embedl Deploy's documentation, "QDQ point placement", and for
/// ConvBNAdd the TensorRT developer guide, "Q/DQ placement recommendations".
std::vector<Pattern> tensorrt_patterns();

/// Returns the chains that ONNX Runtime computes in integers on a CPU, for
/// QuantConfig{.activation = {.is_signed = false}}: Q/DQ on both sides, an
/// unsigned range in place of ReLU. Batch normalization must be folded in the
/// file (io::OnnxTarget::onnxruntime does so).
/// Source: ONNX Runtime 1.31's optimization of such graphs.
std::vector<Pattern> onnxruntime_patterns();

}  // namespace octet::quant
