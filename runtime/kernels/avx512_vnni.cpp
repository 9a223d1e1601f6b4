// Kernels on quantized values only; avx512.cpp has the rest.
#define OCTET_LANES 16
#define OCTET_TILE_REGISTERS 28
#define OCTET_VNNI
#include "common.inl"

namespace octet::kernels {
namespace {
#include "int8_gemm.inl"
}  // namespace

constinit const CodeTable kAvx512VnniCodes = kCodes;

}  // namespace octet::kernels
