#include "operators.h"

#include <unordered_map>

#include "../proto_limits.h"

namespace octet::io::run {
namespace {

constexpr NamedOperator kOperators[] = {
    {"AveragePool", average_pool},
    {"BatchNormalization", batch_normalization},
    {"Concat", concat},
    {"ConstantOfShape", constant_of_shape},
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose},
    {"DepthToSpace", depth_to_space},
    {"DequantizeLinear", dequantize_linear},
    {"Dropout", dropout},
    {"DynamicQuantizeLinear", dynamic_quantize_linear},
    {"Einsum", einsum},
    {"Expand", expand},
    {"EyeLike", eye_like},
    {"Flatten", flatten},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"Gemm", gemm},
    {"GlobalAveragePool", global_average_pool},
    {"GlobalMaxPool", global_max_pool},
    {"GroupNormalization", group_normalization},
    {"Identity", identity},
    {"InstanceNormalization", instance_normalization},
    {"LRN", local_response_normalization},
    {"LayerNormalization", layer_normalization},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"MaxPool", max_pool},
    {"NonZero", non_zero},
    {"OneHot", one_hot},
    {"Pad", pad},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize_linear},
    {"RMSNormalization", rms_normalization},
    {"Range", range},
    {"Reshape", reshape},
    {"Resize", resize},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"Shape", shape},
    {"Size", size},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"TopK", top_k},
    {"Transpose", transpose},
    {"Trilu", trilu},
    {"Unsqueeze", unsqueeze},
    {"Upsample", upsample},
    {"com.microsoft.DequantizeLinear", dequantize_linear},
    {"com.microsoft.QuantizeLinear", quantize_linear},
};

std::unordered_map<std::string, Operator> all_operators() {
  std::unordered_map<std::string, Operator> all;
  for (const Operators operators :
       {Operators(kOperators), activation_operators(), arithmetic_operators(),
        logic_operators(), quantized_operators(), reduction_operators(),
        unary_operators()}) {
    for (const auto& [name, run] : operators) all.emplace(name, run);
  }
  return all;
}

}  // namespace

Operator find_operator(const std::string& name) {
  static const auto kAll = all_operators();
  const auto found = kAll.find(name);
  return found == kAll.end() ? nullptr : found->second;
}

Operator find_operator(const onnx::NodeProto& node) {
  const std::string& name = node.op_type();
  return find_operator(
      is_standard_domain(node.domain()) ? name : node.domain() + "." + name);
}

bool is_if(const onnx::NodeProto& node) {
  return node.op_type() == "If" && is_standard_domain(node.domain());
}

}  // namespace octet::io::run
