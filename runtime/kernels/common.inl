// Helpers shared by all kernels. The including file defines
//   OCTET_LANES           floats per vector
//   OCTET_TILE_REGISTERS  vector registers for the sums of a tile
// and may define
//   OCTET_VNNI            quantized values are bytes, multiplied by vpdpbusd
//   OCTET_CODE_BYTES      quantized values are bytes, without vpdpbusd

#ifdef OCTET_VNNI
#define OCTET_CODE_BYTES
#endif

#ifdef __SSE__
#include <immintrin.h>
#endif

#include "kernels.h"

#define OCTET_INLINE_LAMBDA __attribute__((always_inline))

namespace octet::kernels {
namespace {
#include "simd.inl"
// Used by the files below.
#include "expression.inl"
#include "int8_simd.inl"
#include "tile.inl"
// Uses tile.inl.
#include "fused_epilogue.inl"
#include "short_epilogue.inl"
}  // namespace
}  // namespace octet::kernels
