// The instruction set whose kernels run. The best one of the machine is taken
// at first use; the environment variable OCTET_ISA (baseline, avx2, avx_vnni,
// avx512, avx512_vnni, avx512_amx) overrides it; a word that is none of them is
// an error of the first input(), tensor or program, before any layer. All but
// the baseline give the same bits. Where there is AMX the system is asked for
// its registers, after which what sigaltstack() is given has to hold 12 KiB.
#pragma once

#include <string_view>
#include <vector>

#include <octet/runtime/language.h>

namespace octet {

enum class Isa {
  baseline,
  avx2,
  avx_vnni,  ///< avx2 with dot products of bytes
  avx512,
  avx512_vnni,  ///< avx512 with dot products of bytes
  avx512_amx,   ///< avx512_vnni with matrix products of bytes, and VBMI
};

std::string_view to_string(Isa isa);
/// The set that a word such as OCTET_ISA names, upper case or lower.
/// Throws: UnsupportedError if it is none of `supported`.
Isa isa_named(std::string_view name, const std::vector<Isa>& supported);
/// Those this machine and this build can run, weakest first.
std::vector<Isa> supported_isas();
/// Throws: UnsupportedError if OCTET_ISA names no supported set.
Isa active_isa();
/// Throws: UnsupportedError if the machine or the build lacks it.
void set_active_isa(Isa isa);

}  // namespace octet
