// The operators: one function each, and the table that knows them by name.
// What they compute is said in the ONNX operator specification of the node's
// opset. All throw FormatError naming the node where inputs or attributes do
// not fit, and UnsupportedError for what is left out.
#pragma once

#include <string>

#include "node.h"

namespace octet::io::run {

using Operator = Values (*)(const NodeContext&);

/// By its name in the specification; null for those that are not run.
Operator find_operator(const onnx::NodeProto& node);

// arithmetic.cpp
Values add(const NodeContext& context);
Values sub(const NodeContext& context);
Values mul(const NodeContext& context);
Values div(const NodeContext& context);
Values mod(const NodeContext& context);
Values pow(const NodeContext& context);
Values prelu(const NodeContext& context);
Values sum(const NodeContext& context);
Values mean(const NodeContext& context);
Values max(const NodeContext& context);
Values min(const NodeContext& context);

// logic.cpp
Values equal(const NodeContext& context);
Values greater(const NodeContext& context);
Values greater_or_equal(const NodeContext& context);
Values less(const NodeContext& context);
Values less_or_equal(const NodeContext& context);
Values logical_and(const NodeContext& context);
Values logical_or(const NodeContext& context);
Values logical_xor(const NodeContext& context);
Values logical_not(const NodeContext& context);
Values is_inf(const NodeContext& context);
Values is_nan(const NodeContext& context);
Values where(const NodeContext& context);

// unary.cpp
Values abs(const NodeContext& context);
Values neg(const NodeContext& context);
Values floor(const NodeContext& context);
Values ceil(const NodeContext& context);
Values round(const NodeContext& context);
Values sqrt(const NodeContext& context);
Values exp(const NodeContext& context);
Values log(const NodeContext& context);
Values erf(const NodeContext& context);
Values sin(const NodeContext& context);
Values cos(const NodeContext& context);
Values sign(const NodeContext& context);
Values reciprocal(const NodeContext& context);
Values clip(const NodeContext& context);
Values cast(const NodeContext& context);
Values cast_like(const NodeContext& context);

// activation.cpp
Values relu(const NodeContext& context);
Values leaky_relu(const NodeContext& context);
Values elu(const NodeContext& context);
Values selu(const NodeContext& context);
Values sigmoid(const NodeContext& context);
Values hard_sigmoid(const NodeContext& context);
Values hard_swish(const NodeContext& context);
Values gelu(const NodeContext& context);
Values mish(const NodeContext& context);
Values swish(const NodeContext& context);
Values tanh(const NodeContext& context);
Values softplus(const NodeContext& context);
Values softsign(const NodeContext& context);
Values softmax(const NodeContext& context);
Values log_softmax(const NodeContext& context);

// convolution.cpp, convolution_transpose.cpp
Values conv(const NodeContext& context);
Values conv_transpose(const NodeContext& context);

// integer.cpp
Values conv_integer(const NodeContext& context);
Values matmul_integer(const NodeContext& context);
Values qlinear_conv(const NodeContext& context);
Values qlinear_matmul(const NodeContext& context);

// quantized.cpp
Values qgemm(const NodeContext& context);
Values qlinear_add(const NodeContext& context);
Values qlinear_average_pool(const NodeContext& context);
Values qlinear_concat(const NodeContext& context);
Values qlinear_global_average_pool(const NodeContext& context);
Values qlinear_leaky_relu(const NodeContext& context);
Values qlinear_mul(const NodeContext& context);
Values qlinear_sigmoid(const NodeContext& context);
Values qlinear_softmax(const NodeContext& context);

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

// reduction.cpp
Values reduce_sum(const NodeContext& context);
Values reduce_mean(const NodeContext& context);
Values reduce_max(const NodeContext& context);
Values reduce_min(const NodeContext& context);
Values reduce_l1(const NodeContext& context);
Values reduce_l2(const NodeContext& context);
Values reduce_log_sum(const NodeContext& context);
Values reduce_log_sum_exp(const NodeContext& context);
Values reduce_prod(const NodeContext& context);
Values reduce_sum_square(const NodeContext& context);
Values arg_max(const NodeContext& context);
Values arg_min(const NodeContext& context);
Values cum_sum(const NodeContext& context);

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
