// The chains that ONNX Runtime computes in integers on a CPU: an operator
// between DequantizeLinear and QuantizeLinear becomes its QLinear form. A ReLU,
// or a Clip at 0 and above the range, goes where the lowest code stands for 0.
// Source: what ONNX Runtime 1.31 makes of such graphs
// (tests/oracle/count_integers.py); batch normalization has to be folded.
#include <octet/layers/layer.h>
#include <octet/quant/pattern.h>

#include "patterns/pattern_steps.h"

namespace octet::quant {
namespace {

using enum PatternPoint;

PatternStep convolution() {
  return layer({"Conv1D", "Conv2D", "DepthwiseConv1D", "DepthwiseConv2D",
                "SeparableConv1D", "SeparableConv2D"});
}

// Those that only bound: the others are computed in float, behind their own
// Q/DQ.
PatternStep bound() {
  return {.classes = {"ReLU"},
          .activations = {"relu", "relu6"},
          .only_if = {"nothing below 0 is left", [](const PatternLayer& l) {
                        return l.node.layer->is_non_negative(false);
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
