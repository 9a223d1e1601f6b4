// The machine: instruction set of the kernels, cached memory; and the
// version of Octet.
#pragma once

#include <string_view>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Instruction set of the kernels. Default: the best that the machine supports,
/// chosen at first use. The environment variable OCTET_ISA (baseline, avx2,
/// avx_vnni, avx512, avx512_vnni, avx512_amx) overrides it; an invalid value
/// raises an error at the first input(), tensor or program, before any layer.
/// All sets except the baseline compute identical bits. With AMX, tile
/// registers are requested from the system; stacks for sigaltstack() then need
/// at least 12 KiB.
enum class Isa {
  baseline,     ///< the compiler's default for the architecture
  avx2,         ///< AVX2 and FMA
  avx_vnni,     ///< avx2 with INT8 dot products
  avx512,       ///< AVX-512 F, BW, DQ and VL
  avx512_vnni,  ///< avx512 with INT8 dot products
  avx512_amx,   ///< avx512_vnni with INT8 matrix products, and VBMI
};

/// "baseline", "avx2", "avx_vnni", ...
std::string_view to_string(Isa isa);
/// Parses the name of an instruction set, case-insensitive.
/// Throws: UnsupportedError if it is not in `supported`.
Isa isa_named(std::string_view name, const std::vector<Isa>& supported);
/// Sets that this machine and build can run, weakest first.
std::vector<Isa> supported_isas();
/// Returns the instruction set in use.
/// Throws: UnsupportedError if OCTET_ISA names no supported set.
Isa active_isa();
/// Selects the instruction set.
/// Throws: UnsupportedError if the machine or the build does not support it.
void set_active_isa(Isa isa);

// Memory that Octet caches for later tensors.

/// Returns the cached memory of all threads to the system, for example after a
/// session is built and the model destroyed. Existing tensors are unaffected;
/// the next allocations are slower. Like PyTorch's torch.cuda.empty_cache(),
/// for the CPU. Thread-safe.
void release_memory();

/// "major.minor.patch" of the library.
const char* version();

}  // namespace octet
