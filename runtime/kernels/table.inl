// Compiled once per instruction set. The including file defines the macros of
// common.inl, and
//   OCTET_TABLE           name of the table to define

#include "common.inl"

namespace octet::kernels {
namespace {
#include "activation.inl"
#include "depthwise.inl"
#include "exponential.inl"
#include "int8_gemm.inl"
#include "look_up.inl"
#include "multiply.inl"
#include "per_channel.inl"
#include "pointwise.inl"
// Uses clear().
#include "pooling.inl"
// Uses exponential().
#include "rows.inl"
}  // namespace

constinit const Table OCTET_TABLE = {
    .evaluate = evaluate,
    .multiply = multiply,
    .weight_gradient = weight_gradient,
    .depthwise = depthwise,
    .depthwise_gradient = depthwise_gradient,
    .mask = mask,
    .accumulate = accumulate,
    .max_pool = max_pool,
    .max_pool_gradient = max_pool_gradient,
    .activate = activate,
    .absmax_columns = absmax_columns,
    .quantize_columns = quantize_columns,
    .pass_columns = pass_columns,
    .add_slopes = add_slopes,
    .prepare = prepare,
    .packed_size = packed_size,
    .pack = pack,
    .softmax = softmax,
    .normalize = normalize,
    .look_up = look_up,
    .codes = kCodes,
};

}  // namespace octet::kernels
