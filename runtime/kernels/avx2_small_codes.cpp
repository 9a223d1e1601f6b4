// Kernels on 7-bit quantized values only; avx2.cpp has the rest.
#define OCTET_LANES 8
#define OCTET_TILE_REGISTERS 12
#define OCTET_CODE_BYTES
#include "common.inl"

namespace octet::kernels {
namespace {
#include "int8_gemm.inl"
}  // namespace

constinit const CodeTable kAvx2SmallCodes = kCodes;

}  // namespace octet::kernels
