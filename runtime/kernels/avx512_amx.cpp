// Products of quantized values only; avx512_vnni.cpp has the rest.
#define OCTET_LANES 16
#define OCTET_TILE_REGISTERS 28
#define OCTET_VNNI
#include "common.inl"

namespace octet::kernels {
namespace {
#include "amx_gemm.inl"
}  // namespace

void multiply_codes_amx(const CodeProduct& c, const Epilogue& e) {
  if (c.rows == 0 || c.cols == 0) return;
  const int64_t words = words_at_once(c.steps);
  // Too few words per AMX instruction.
  if (words < 3 && c.steps > kMatrixWords)
    return kAvx512VnniCodes.multiply(c, e);
  const Lines lines = lines_of(c);
  shape_tiles(lines.run, words);
  if (e.fused != nullptr) {
    multiply_panels<true>(c, lines, words, e);
  } else {
    multiply_panels<false>(c, lines, words, e);
  }
  release_tiles();
}

}  // namespace octet::kernels
