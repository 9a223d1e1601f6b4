// Patterns: chains of layers that a device computes in one kernel, and where
// Q/DQ stands around them. Plain data: transform() tries a list in its order,
// so custom patterns go to its front.
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

/// A layer where a condition meets it, at one of its calls.
struct PatternLayer {
  const GraphNode& node;
  /// Those that read its output; Dropout and its like are looked through.
  std::vector<const GraphNode*> readers = {};
};

/// What has to hold of a layer, in words and as a function.
struct Condition {
  std::string text;  ///< "a kernel of 7x7 on 3 channels"
  std::function<bool(const PatternLayer&)> holds;
};

/// A layer of a chain: one of these classes, roles or functions.
struct PatternStep {
  std::vector<std::string> classes = {};  ///< or Keras' other names of them
  std::vector<LayerRole> roles = {};
  /// Functions of the layer Activation, by their names. The option
  /// `activation` of the layer before is a step of its own and stands for one
  /// of these: a chain whose next step takes no activation ends there.
  std::vector<std::string> activations = {};
  bool optional = false;
  /// Where it does not hold, the layer does not fit the step.
  Condition only_if = {};
  /// Where it holds, a match is listed with its text, but not applied.
  Condition skip_if = {};
};

/// Where Q/DQ stands at a match.
enum class PatternPoint {
  input,           ///< what the first layer reads
  residual_input,  ///< what layers after the first read beside the chain
  query,           ///< input 0 of the first layer
  key,             ///< input 1
  value,           ///< input 2
  output,          ///< after the last layer, if it is no output of the model
};

/// The name that the source documents use: "INPUT", "RESIDUAL_INPUT", ...
std::string_view to_string(PatternPoint point);

struct Pattern {
  std::string name;
  /// From the first layer to the last. What stands between two of them is read
  /// by nothing else, and a layer that is called several times stands alone.
  std::vector<PatternStep> steps;
  /// None: the layers stay as they are. Otherwise the weights in the chain are
  /// quantized too.
  std::vector<PatternPoint> qdq_points = {};
  std::string rationale = {};
};

/// The chains that TensorRT fuses, longest first.
/// Source: Embedl Deploy's documentation, "QDQ point placement", and for
/// ConvBNAdd the TensorRT developer guide, "Q/DQ placement recommendations".
std::vector<Pattern> tensorrt_patterns();

/// The chains that ONNX Runtime computes in integers on a CPU, for
/// QuantConfig{.activation = {.is_signed = false}}: Q/DQ on both sides, and
/// codes from 0 on in place of a ReLU. The file has to have its batch
/// normalization folded (io::OnnxTarget::onnxruntime does that).
/// Source: what ONNX Runtime 1.31 makes of such graphs.
std::vector<Pattern> onnxruntime_patterns();

}  // namespace octet::quant
