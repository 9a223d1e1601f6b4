// The operators: a function each, and a table by name. The ONNX operator
// specification of the node's opset defines their results. All throw
// FormatError naming the node for inputs or attributes that do not fit, and
// UnsupportedError for unsupported cases.
#pragma once

#include <span>
#include <string>

#include "node.h"

namespace octet::io::run {

using Operator = Values (*)(const NodeContext&);

/// Returns an operator by its name in the specification, with the prefix
/// "DOMAIN." outside the standard domain; null if it is not supported.
Operator find_operator(const std::string& name);
Operator find_operator(const onnx::NodeProto& node);
/// Whether the node is an If, whose branches become steps of the program.
bool is_if(const onnx::NodeProto& node);

struct NamedOperator {
  const char* name;
  Operator run;
};
using Operators = std::span<const NamedOperator>;

// Operators of files that mostly contain formulas.
Operators activation_operators();
Operators arithmetic_operators();
Operators logic_operators();
Operators quantized_operators();
Operators reduction_operators();
Operators unary_operators();

// convolution.cpp, convolution_transpose.cpp
Values conv(const NodeContext& context);
Values conv_transpose(const NodeContext& context);

// einsum.cpp
Values einsum(const NodeContext& context);

// integer.cpp
Values conv_integer(const NodeContext& context);
Values matmul_integer(const NodeContext& context);
Values qlinear_conv(const NodeContext& context);
Values qlinear_matmul(const NodeContext& context);

// matrix.cpp
Values gemm(const NodeContext& context);
Values matmul(const NodeContext& context);

// normalization.cpp
Values batch_normalization(const NodeContext& context);
Values instance_normalization(const NodeContext& context);
Values group_normalization(const NodeContext& context);
Values layer_normalization(const NodeContext& context);
Values rms_normalization(const NodeContext& context);
Values local_response_normalization(const NodeContext& context);
Values dropout(const NodeContext& context);

// pooling.cpp
Values average_pool(const NodeContext& context);
Values max_pool(const NodeContext& context);
Values global_average_pool(const NodeContext& context);
Values global_max_pool(const NodeContext& context);

// quantization.cpp
Values quantize_linear(const NodeContext& context);
Values dequantize_linear(const NodeContext& context);
Values dynamic_quantize_linear(const NodeContext& context);

// resize.cpp
Values resize(const NodeContext& context);
Values upsample(const NodeContext& context);

// shape.cpp
Values identity(const NodeContext& context);
Values reshape(const NodeContext& context);
Values flatten(const NodeContext& context);
Values squeeze(const NodeContext& context);
Values unsqueeze(const NodeContext& context);
Values shape(const NodeContext& context);
Values size(const NodeContext& context);

// movement.cpp
Values concat(const NodeContext& context);
Values split(const NodeContext& context);
Values slice(const NodeContext& context);
Values gather(const NodeContext& context);
Values transpose(const NodeContext& context);
Values expand(const NodeContext& context);

// indexing.cpp
Values gather_elements(const NodeContext& context);
Values gather_nd(const NodeContext& context);
Values scatter_elements(const NodeContext& context);
Values scatter_nd(const NodeContext& context);
Values non_zero(const NodeContext& context);
Values one_hot(const NodeContext& context);
Values top_k(const NodeContext& context);

// blocks.cpp
Values depth_to_space(const NodeContext& context);
Values space_to_depth(const NodeContext& context);
Values tile(const NodeContext& context);
Values trilu(const NodeContext& context);

// padding.cpp
Values pad(const NodeContext& context);

// fill.cpp
Values constant_of_shape(const NodeContext& context);
Values eye_like(const NodeContext& context);
Values range(const NodeContext& context);

}  // namespace octet::io::run
