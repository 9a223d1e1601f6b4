// Codes of seven bits alone: all else is as in avx2.cpp.
#define OCTET_LANES 8
#define OCTET_TILE_REGISTERS 12
#define OCTET_CODE_BYTES
#include "common.inl"

namespace octet::kernels {
namespace {
#include "codes.inl"
}  // namespace

constinit const CodeTable kAvx2SmallCodes = kCodes;

}  // namespace octet::kernels
