#include "converters.h"

#include <string_view>
#include <unordered_map>

namespace octet::io::importing {

Converter find_converter(const std::string& op) {
  static const std::unordered_map<std::string_view, Converter> kConverters{
      {"Add", convert_add},
      {"Attention", convert_attention},
      {"AveragePool", convert_average_pool},
      {"BatchNormalization", convert_batch_normalization},
      {"Cast", convert_cast},
      {"Concat", convert_concat},
      {"Conv", convert_conv},
      {"ConvTranspose", convert_conv_transpose},
      {"DepthToSpace", convert_depth_to_space},
      {"DequantizeLinear", convert_dequantize},
      {"Div", convert_div},
      {"Dropout", convert_dropout},
      {"Einsum", convert_einsum},
      {"Expand", convert_expand},
      {"Flatten", convert_flatten},
      {"Gather", convert_gather},
      {"GRU", convert_recurrent},
      {"Gemm", convert_gemm},
      {"GroupNormalization", convert_group_normalization},
      {"Identity", convert_identity},
      {"InstanceNormalization", convert_group_normalization},
      {"LRN", convert_local_response_normalization},
      {"LSTM", convert_recurrent},
      {"LayerNormalization", convert_layer_normalization},
      {"LogSoftmax", convert_softmax},
      {"MatMul", convert_matmul},
      {"Max", convert_max},
      {"MaxPool", convert_max_pool},
      {"Mean", convert_mean},
      {"Min", convert_min},
      {"Mul", convert_mul},
      {"Not", convert_not},
      {"PRelu", convert_prelu},
      {"Pad", convert_pad},
      {"Pow", convert_pow},
      {"RNN", convert_recurrent},
      {"RMSNormalization", convert_rms_normalization},
      {"Reshape", convert_reshape},
      {"Resize", convert_resize},
      {"ScaledDotProductAttention", convert_dot_product_attention},
      {"ScatterND", convert_scatter_nd},
      {"Shape", convert_shape},
      {"Size", convert_size},
      {"Slice", convert_slice},
      {"Softmax", convert_softmax},
      {"SpaceToDepth", convert_space_to_depth},
      {"Split", convert_split},
      {"Squeeze", convert_squeeze},
      {"Sub", convert_sub},
      {"Sum", convert_sum},
      {"Tile", convert_tile},
      {"Transpose", convert_transpose},
      {"UnitNormalization", convert_unit_normalization},
      {"Unsqueeze", convert_unsqueeze},
      {"Where", convert_where},
  };
  const auto found = kConverters.find(op);
  if (found != kConverters.end()) return found->second;
  if (is_elementwise(op)) return convert_elementwise;
  if (is_comparison(op)) return convert_compare;
  return is_reduction(op) ? convert_reduction : nullptr;
}

}  // namespace octet::io::importing
