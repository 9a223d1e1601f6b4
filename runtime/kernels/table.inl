// Compiled once per instruction set; the including file defines
//   OCTET_LANES           floats per vector
//   OCTET_TILE_REGISTERS  vector registers for the sums of a tile
//   OCTET_TABLE           name of the table to define

#include "kernels.h"

#define OCTET_INLINE_LAMBDA __attribute__((always_inline))

namespace octet::kernels {
namespace {
#include "lanes.inl"
// The others build on it.
#include "activation.inl"
#include "columns.inl"
#include "depthwise.inl"
#include "exponential.inl"
#include "multiply.inl"
#include "pointwise.inl"
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
    .activate = activate,
    .absmax_columns = absmax_columns,
    .quantize_columns = quantize_columns,
    .packed_size = packed_size,
    .pack = pack,
    .exponentials = exponentials,
};

}  // namespace octet::kernels
