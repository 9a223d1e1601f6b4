// The instruction set whose kernels run. The best one of the machine is taken
// at first use; the environment variable OCTET_ISA (baseline, avx2, avx512)
// overrides it. AVX2 and AVX-512 give the same bits.
#pragma once

#include <string_view>
#include <vector>

namespace octet {

enum class Isa { baseline, avx2, avx512 };

std::string_view to_string(Isa isa);
/// Those this machine and this build can run, weakest first.
std::vector<Isa> supported_isas();
/// Throws: ValueError if OCTET_ISA names no supported set.
Isa active_isa();
/// Throws: UnsupportedError if the machine or the build lacks it.
void set_active_isa(Isa isa);

}  // namespace octet
