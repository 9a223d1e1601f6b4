// Chains that TensorRT runs as an INT8 kernel.
// Source: Embedl Deploy's documentation, table "QDQ point placement": points
// and rationales. Keras has zero padding as a layer, which TensorRT fuses into
// the consuming convolution; Q/DQ precedes both (NVIDIA/TensorRT#2592).
#include <octet/layers/layer.h>
#include <octet/quant/patterns.h>

#include "patterns/pattern_steps.h"

namespace octet::quant {
namespace {

using enum PatternPoint;

PatternStep conv() {
  return layer({"Conv1D", "Conv2D", "DepthwiseConv1D", "DepthwiseConv2D"});
}

PatternStep activation() {
  return {.classes = {"ReLU", "LeakyReLU", "ELU"},
          .activations = {"relu", "relu6", "leaky_relu", "elu", "gelu", "silu",
                          "swish", "hard_silu", "hard_swish", "hard_sigmoid"}};
}

bool is_stem(const PatternLayer& l) {
  const Shape& kernel = l.node.layer->parameter("kernel").variable.shape();
  return kernel[0] == 7 && kernel[1] == 7 && kernel[2] == 3;
}

bool feeds_attention(const PatternLayer& l) {
  for (const GraphNode* consumer : l.consumers) {
    if (consumer->layer->class_name() == "ScaledDotProductAttention")
      return true;
  }
  return false;
}

// Per row of a product [m,k] x [k,n]: multiply-adds over moved values.
bool is_tiny(const PatternLayer& l) {
  const Shape& kernel = l.node.layer->parameter("kernel").variable.shape();
  return kernel[0] * kernel[1] < 256 * (kernel[0] + kernel[1]);
}

PatternStep linear() {
  PatternStep step = layer({"Dense"});
  step.skip_if = {"K*N/(K+N) < 256: as fast in FP16", is_tiny};
  return step;
}

}  // namespace

std::string_view to_string(PatternPoint point) {
  switch (point) {
    case input:
      return "INPUT";
    case residual_input:
      return "RESIDUAL_INPUT";
    case query:
      return "QUERY";
    case key:
      return "KEY";
    case value:
      return "VALUE";
    case output:
      break;
  }
  return "OUTPUT";
}

std::vector<Pattern> tensorrt_patterns() {
  return {
      {.name = "StemConvBNReLUMaxPool",
       .steps = {pad(),
                 layer({"Conv2D"}, {"a kernel of 7x7 on 3 channels", is_stem}),
                 norm(), activation(), pad(), layer({"MaxPooling2D"})},
       .qdq_points = {input},
       .rationale = "first layer: quantize the image once"},
      {.name = "ConvBNAddReLU",
       .steps = {pad(), conv(), norm(), layer({"Add"}), activation()},
       .qdq_points = {input, residual_input},
       .rationale = "both paths into the Add; the convolution's stays in the "
                    "kernel"},
      {.name = "ConvBNAdd",
       .steps = {pad(), conv(), norm(), layer({"Add"})},
       .qdq_points = {input, residual_input},
       .rationale = "both paths into the Add; the convolution's stays in the "
                    "kernel"},
      {.name = "ConvBNReLU",
       .steps = {pad(), conv(), norm(), activation()},
       .qdq_points = {input},
       .rationale = "quantize the input; the activation is fused"},
      {.name = "ConvBN",
       .steps = {pad(), conv(), norm()},
       .qdq_points = {input},
       .rationale = "quantize the input of the convolution"},
      {.name = "LinearReLU",
       .steps = {linear(), activation()},
       .qdq_points = {input},
       .rationale = "quantize the input; the activation is fused"},
      {.name = "MHAInProjection",
       .steps = {layer({"Dense"},
                       {"feeds ScaledDotProductAttention", feeds_attention})},
       .qdq_points = {input},
       .rationale = "quantize the input of the query, key and value "
                    "projections"},
      {.name = "Linear",
       .steps = {linear()},
       .qdq_points = {input},
       .rationale = "quantize the input of the product"},
      {.name = "ScaledDotProductAttention",
       .steps = {layer({"ScaledDotProductAttention"})},
       .qdq_points = {query, key, value},
       .rationale = "query, key and value each have a range of their own"},
      {.name = "AdaptiveAvgPool",
       .steps = {layer({"GlobalAveragePooling1D", "GlobalAveragePooling2D"})},
       .qdq_points = {input, output},
       .rationale = "both sides, so that TensorRT fuses the pool"},
      {.name = "LayerNorm",
       .steps = {layer({"LayerNormalization"})},
       .rationale = "stays float: INT8 costs accuracy and gains no time"},
  };
}

}  // namespace octet::quant
