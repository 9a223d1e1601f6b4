// Chains that ONNX Runtime computes in integers on a CPU: an operator between
// DequantizeLinear and QuantizeLinear becomes its QLinear form. A ReLU, or a
// Clip from 0 to at least the range, is removed if the lowest quantized value
// is 0.
// Source: ONNX Runtime 1.31's optimization of such graphs
// (tests/oracle/count_integers.py); batch normalization must be folded.
#include <octet/layers/layer.h>
#include <octet/quant/patterns.h>

#include "patterns/pattern_steps.h"

namespace octet::quant {
namespace {

using enum PatternPoint;

PatternStep convolution() {
  return layer({"Conv1D", "Conv2D", "DepthwiseConv1D", "DepthwiseConv2D",
                "SeparableConv1D", "SeparableConv2D"});
}

// Activations that only clip; others are computed in float, behind separate
// Q/DQ.
PatternStep bound() {
  return {
      .classes = {"ReLU"},
      .activations = {"relu", "relu6"},
      .only_if = {"the output cannot be negative", [](const PatternLayer& l) {
                    return l.node.facts().sign == OutputSign::non_negative;
                  }}};
}

}  // namespace

std::vector<Pattern> onnxruntime_patterns() {
  return {
      {.name = "ConvReLU",
       .steps = {pad(), convolution(), norm(), bound()},
       .qdq_points = {input, output},
       .rationale = "QLinearConv; codes from 0 on are the ReLU"},
      {.name = "Conv",
       .steps = {pad(), convolution(), norm()},
       .qdq_points = {input, output},
       .rationale = "QLinearConv"},
      {.name = "DenseReLU",
       .steps = {layer({"Dense"}), bound()},
       .qdq_points = {input, output},
       .rationale = "QGemm; codes from 0 on are the ReLU"},
      {.name = "Dense",
       .steps = {layer({"Dense"})},
       .qdq_points = {input, output},
       .rationale = "QGemm"},
      {.name = "AddReLU",
       .steps = {layer({"Add"}), bound()},
       .qdq_points = {input, residual_input, output},
       .rationale = "QLinearAdd; codes from 0 on are the ReLU"},
      {.name = "Add",
       .steps = {layer({"Add"})},
       .qdq_points = {input, residual_input, output},
       .rationale = "QLinearAdd"},
      {.name = "AveragePool",
       .steps = {layer({"GlobalAveragePooling1D", "GlobalAveragePooling2D",
                        "AveragePooling1D", "AveragePooling2D"})},
       .qdq_points = {input, output},
       .rationale = "QLinearAveragePool"},
      {.name = "ScaledDotProductAttention",
       .steps = {layer({"ScaledDotProductAttention"})},
       .qdq_points = {query, key, value},
       .rationale = "query, key and value each have a range of their own"},
      {.name = "LayerNorm",
       .steps = {layer({"LayerNormalization"})},
       .rationale = "stays float: INT8 costs accuracy and gains no time"},
  };
}

}  // namespace octet::quant
