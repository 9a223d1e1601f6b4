#include "peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <octet/octet.h>

namespace octet::bench {
namespace {

#ifdef __x86_64__

constexpr int kRounds = 4000;

// Returns the operations per second of the fastest repetition.
template <class Run>
double rate(double operations, Run run) {
  double best = 0;
  for (int repetition = 0; repetition < 200; ++repetition) {
    const auto start = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    best = std::max(best, kRounds * operations / took.count());
  }
  return best;
}

// Twelve independent sums, to hide latency.
#define OCTET_TWELVE(instruction)                                              \
  asm volatile(instruction(0) instruction(1) instruction(2) instruction(3)     \
                   instruction(4) instruction(5) instruction(6) instruction(7) \
                       instruction(8) instruction(9) instruction(10)           \
                           instruction(11)::                                   \
                               : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",       \
                                 "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",       \
                                 "xmm10", "xmm11", "xmm12", "xmm13")

#define OCTET_FLOATS_512(i) "vfmadd231ps %%zmm15, %%zmm14, %%zmm" #i "\n"
#define OCTET_FLOATS_256(i) "vfmadd231ps %%ymm15, %%ymm14, %%ymm" #i "\n"
#define OCTET_BYTES_512(i) "vpdpbusd %%zmm15, %%zmm14, %%zmm" #i "\n"
#define OCTET_BYTES_256(i) "%{vex%} vpdpbusd %%ymm15, %%ymm14, %%ymm" #i "\n"
// 16-bit products and a sum, for instruction sets without byte dot products.
#define OCTET_SHORTS_512(i)              \
  "vpmaddwd %%zmm15, %%zmm14, %%zmm12\n" \
  "vpaddd %%zmm12, %%zmm" #i ", %%zmm" #i "\n"
#define OCTET_SHORTS_256(i)              \
  "vpmaddwd %%ymm15, %%ymm14, %%ymm12\n" \
  "vpaddd %%ymm12, %%ymm" #i ", %%ymm" #i "\n"

// Zero operands: subnormal numbers would take longer.
#define OCTET_ROUNDS(name, instruction)                          \
  void name() {                                                  \
    asm volatile("vzeroall");                                    \
    for (int i = 0; i < kRounds; ++i) OCTET_TWELVE(instruction); \
    asm volatile("vzeroupper");                                  \
  }
OCTET_ROUNDS(floats_512, OCTET_FLOATS_512)
OCTET_ROUNDS(floats_256, OCTET_FLOATS_256)
OCTET_ROUNDS(bytes_512, OCTET_BYTES_512)
OCTET_ROUNDS(bytes_256, OCTET_BYTES_256)
OCTET_ROUNDS(shorts_512, OCTET_SHORTS_512)
OCTET_ROUNDS(shorts_256, OCTET_SHORTS_256)

// Full tile registers.
void matrices() {
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  } shapes;
  for (int i = 0; i < 8; ++i) {
    shapes.row_bytes[i] = 64;
    shapes.rows[i] = 16;
  }
  asm volatile("ldtilecfg %0" : : "m"(shapes));
  for (int i = 0; i < kRounds; ++i) {
    asm volatile(
        "tdpbusd %tmm7, %tmm6, %tmm0\n"
        "tdpbusd %tmm7, %tmm6, %tmm1\n"
        "tdpbusd %tmm7, %tmm6, %tmm2\n"
        "tdpbusd %tmm7, %tmm6, %tmm3\n");
  }
  asm volatile("tilerelease");
}

#endif

}  // namespace

double peak_flops() {
#ifdef __x86_64__
  if (active_isa() >= Isa::avx512) return rate(12 * 32, floats_512);
  if (active_isa() >= Isa::avx2) return rate(12 * 16, floats_256);
#endif
  return 0;
}

double peak_code_ops() {
#ifdef __x86_64__
  switch (active_isa()) {
    case Isa::avx512_amx:
      return rate(4 * 2 * 16 * 16 * 64, matrices);
    case Isa::avx512_vnni:
      return rate(12 * 128, bytes_512);
    case Isa::avx512:
      return rate(12 * 64, shorts_512);
    case Isa::avx_vnni:
      return rate(12 * 64, bytes_256);
    case Isa::avx2:
      return rate(12 * 32, shorts_256);
    case Isa::baseline:
      return 0;
  }
#endif
  return 0;
}

}  // namespace octet::bench
