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
    evaluate,       multiply,           weight_gradient,
    depthwise,      depthwise_gradient, mask,
    accumulate,     max_pool,           activate,
    absmax_columns, quantize_columns,   packed_size,
    pack,           exponentials};

}  // namespace octet::kernels
