// What all kernels are written with. The including file defines
//   OCTET_LANES           floats per vector
//   OCTET_TILE_REGISTERS  vector registers for the sums of a tile
// and may define
//   OCTET_VNNI            codes are bytes, for dot products of four
//   OCTET_CODE_BYTES      they are bytes without that

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
#include "lanes.inl"
// The others build on it.
#include "code_lanes.inl"
#include "expression.inl"
#include "tile.inl"
// Needs tiles.
#include "fused.inl"
}  // namespace
}  // namespace octet::kernels
