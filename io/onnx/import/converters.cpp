#include "converters.h"

#include <string_view>
#include <unordered_map>

namespace octet::io::importing {

Converter find_converter(const std::string& op) {
  static const std::unordered_map<std::string_view, Converter> kConverters{
      {"Add", convert_add},
      {"AveragePool", convert_average_pool},
      {"BatchNormalization", convert_batch_normalization},
      {"Cast", convert_cast},
      {"Clip", convert_clip},
      {"Concat", convert_concat},
      {"Conv", convert_conv},
      {"ConvTranspose", convert_conv_transpose},
      {"DepthToSpace", convert_depth_to_space},
      {"DequantizeLinear", convert_dequantize},
      {"Div", convert_div},
      {"Dropout", convert_dropout},
      {"Elu", convert_elu},
      {"Exp", convert_activation},
      {"Expand", convert_expand},
      {"Flatten", convert_flatten},
      {"Gather", convert_gather},
      {"Gelu", convert_gelu},
      {"Gemm", convert_gemm},
      {"GlobalAveragePool", convert_global_average_pool},
      {"GlobalMaxPool", convert_global_max_pool},
      {"HardSigmoid", convert_hard_sigmoid},
      {"HardSwish", convert_activation},
      {"Identity", convert_identity},
      {"LayerNormalization", convert_layer_normalization},
      {"LeakyRelu", convert_leaky_relu},
      {"MatMul", convert_matmul},
      {"Max", convert_max},
      {"MaxPool", convert_max_pool},
      {"Mean", convert_mean},
      {"Min", convert_min},
      {"Mul", convert_mul},
      {"Neg", convert_neg},
      {"PRelu", convert_prelu},
      {"Pad", convert_pad},
      {"ReduceMax", convert_reduce_max},
      {"ReduceMean", convert_reduce_mean},
      {"ReduceSum", convert_reduce_sum},
      {"Relu", convert_activation},
      {"Reshape", convert_reshape},
      {"Resize", convert_resize},
      {"Selu", convert_selu},
      {"Shape", convert_shape},
      {"Sigmoid", convert_activation},
      {"Slice", convert_slice},
      {"Softmax", convert_softmax},
      {"Softplus", convert_activation},
      {"Softsign", convert_activation},
      {"SpaceToDepth", convert_space_to_depth},
      {"Split", convert_split},
      {"Squeeze", convert_squeeze},
      {"Sub", convert_sub},
      {"Sum", convert_sum},
      {"Swish", convert_swish},
      {"Tanh", convert_activation},
      {"Transpose", convert_transpose},
      {"Unsqueeze", convert_unsqueeze},
      {"Upsample", convert_resize},
  };
  const auto found = kConverters.find(op);
  return found == kConverters.end() ? nullptr : found->second;
}

}  // namespace octet::io::importing
