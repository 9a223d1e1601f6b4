// Kernels on quantized values only; avx2.cpp has the rest.
#define OCTET_LANES 8
#define OCTET_TILE_REGISTERS 12
#define OCTET_VNNI
#include "common.inl"

namespace octet::kernels {
namespace {
#include "int8_gemm.inl"
}  // namespace

constinit const CodeTable kAvxVnniCodes = kCodes;

}  // namespace octet::kernels
