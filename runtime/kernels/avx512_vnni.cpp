// Codes alone: all else is as in avx512.cpp.
#define OCTET_LANES 16
#define OCTET_TILE_REGISTERS 28
#define OCTET_VNNI
#include "common.inl"

namespace octet::kernels {
namespace {
#include "codes.inl"
}  // namespace

constinit const CodeTable kAvx512VnniCodes = kCodes;

}  // namespace octet::kernels
