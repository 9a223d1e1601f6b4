// Functions that convert operators to layers, by source file. The ONNX operator
// specification defines the operators; all functions throw UnsupportedError for
// cases without an equivalent layer. Internal to io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

// convolution.cpp
void convert_conv(Conversion& c);
void convert_conv_transpose(Conversion& c);

// pooling.cpp
void convert_max_pool(Conversion& c);
void convert_average_pool(Conversion& c);

// reduction.cpp
bool is_reduction(std::string_view op);
void convert_reduction(Conversion& c);

// dense.cpp
void convert_gemm(Conversion& c);
void convert_matmul(Conversion& c);

// einsum.cpp
void convert_einsum(Conversion& c);

// normalization.cpp
void convert_batch_normalization(Conversion& c);
void convert_layer_normalization(Conversion& c);
void convert_rms_normalization(Conversion& c);
void convert_group_normalization(Conversion& c);
void convert_unit_normalization(Conversion& c);
void convert_local_response_normalization(Conversion& c);

// activation.cpp
bool is_elementwise(std::string_view op);
void convert_elementwise(Conversion& c);
/// Max or Min of a value and a number. Returns false for other inputs.
bool convert_bound(Conversion& c);
void convert_prelu(Conversion& c);
void convert_softmax(Conversion& c);

// arithmetic.cpp
void convert_add(Conversion& c);
void convert_div(Conversion& c);
void convert_max(Conversion& c);
void convert_mean(Conversion& c);
void convert_min(Conversion& c);
void convert_mul(Conversion& c);
void convert_pow(Conversion& c);
void convert_sub(Conversion& c);
void convert_sum(Conversion& c);

// attention.cpp
void convert_attention(Conversion& c);
void convert_dot_product_attention(Conversion& c);

// choice.cpp
bool is_comparison(std::string_view op);
void convert_compare(Conversion& c);
void convert_not(Conversion& c);
void convert_where(Conversion& c);

// recurrent.cpp
void convert_recurrent(Conversion& c);

// gather.cpp, padding.cpp, resize.cpp, slice.cpp
void convert_gather(Conversion& c);
void convert_pad(Conversion& c);
void convert_resize(Conversion& c);
void convert_scatter_nd(Conversion& c);
void convert_slice(Conversion& c);
void convert_split(Conversion& c);
void convert_tile(Conversion& c);

// order.cpp
void convert_depth_to_space(Conversion& c);
void convert_flatten(Conversion& c);
void convert_reshape(Conversion& c);
/// Reshapes the first input; sizes as in Reshape.
void reshape_as(Conversion& c, const Dims& sizes);
void convert_shape(Conversion& c);
void convert_size(Conversion& c);
void convert_space_to_depth(Conversion& c);
void convert_squeeze(Conversion& c);
void convert_transpose(Conversion& c);
void convert_unsqueeze(Conversion& c);

// dequantize.cpp
void convert_dequantize(Conversion& c);

// movement.cpp
void convert_cast(Conversion& c);
void convert_concat(Conversion& c);
void convert_dropout(Conversion& c);
void convert_expand(Conversion& c);
void convert_identity(Conversion& c);

}  // namespace octet::io::importing
