#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <string>

#ifdef OCTET_X86
#include <cpuid.h>
#endif
#if defined(OCTET_AVX512) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "kernels/kernels.h"

namespace octet {
namespace {

[[maybe_unused]] kernels::Table with_codes(kernels::Table table,
                                           const kernels::CodeTable& codes) {
  table.codes = codes;
  return table;
}

const kernels::Table& table_of(Isa isa) {
  switch (isa) {
#ifdef OCTET_X86
    case Isa::avx2: {
      static const kernels::Table table = [] {
        kernels::Table made = kernels::kAvx2;
        made.small_codes = &kernels::kAvx2SmallCodes;
        return made;
      }();
      return table;
    }
    case Isa::avx_vnni: {
      static const kernels::Table table =
          with_codes(kernels::kAvx2, kernels::kAvxVnniCodes);
      return table;
    }
#ifdef OCTET_AVX512
    case Isa::avx512:
      return kernels::kAvx512;
    case Isa::avx512_vnni: {
      static const kernels::Table table =
          with_codes(kernels::kAvx512, kernels::kAvx512VnniCodes);
      return table;
    }
    case Isa::avx512_amx: {
      static const kernels::Table table = [] {
        kernels::Table made =
            with_codes(kernels::kAvx512, kernels::kAvx512VnniCodes);
        made.codes.multiply = kernels::multiply_codes_amx;
        return made;
      }();
      return table;
    }
#endif
#endif
    default:
      return kernels::kBaseline;
  }
}

std::string names(const std::vector<Isa>& isas) {
  std::string text;
  for (const Isa isa : isas) {
    if (!text.empty()) text += ", ";
    text += to_string(isa);
  }
  return text;
}

Isa choose() {
  const std::vector<Isa> supported = supported_isas();
  const char* wanted = std::getenv("OCTET_ISA");
  if (wanted == nullptr || *wanted == '\0') return supported.back();
  return isa_named(wanted, supported);
}

struct Active {
  std::atomic<Isa> isa;
  std::atomic<const kernels::Table*> table;
  explicit Active(Isa first) : isa(first), table(&table_of(first)) {}
};

Active& active() {
  static Active instance(choose());
  return instance;
}

#ifdef OCTET_X86
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual,
// CPUID leaf 7, subleaf 1. Not all compilers have a name for it.
bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}

#ifdef OCTET_AVX512
// Requests AMX-TILE and AMX-INT8 from the system, as each process must.
// Source: the same, CPUID leaf 7; Linux, Documentation/arch/x86/xstate.rst.
bool has_amx() {
#ifdef __linux__
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  if ((d >> 24 & 1) == 0 || (d >> 25 & 1) == 0) return false;
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}
#endif
#endif

}  // namespace

std::string_view to_string(Isa isa) {
  switch (isa) {
    case Isa::baseline:
      return "baseline";
    case Isa::avx2:
      return "avx2";
    case Isa::avx_vnni:
      return "avx_vnni";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_vnni:
      return "avx512_vnni";
    case Isa::avx512_amx:
      return "avx512_amx";
  }
  return "?";
}

Isa isa_named(std::string_view name, const std::vector<Isa>& supported) {
  std::string word(name);
  for (char& c : word) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  bool known = false;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx_vnni, Isa::avx512,
                        Isa::avx512_vnni, Isa::avx512_amx}) {
    if (to_string(isa) != word) continue;
    if (std::ranges::find(supported, isa) != supported.end()) return isa;
    known = true;
  }
  throw UnsupportedError(
      "unsupported_value", "OCTET_ISA",
      fmt::format("{} instruction set '{}'; this machine supports {}. Hint: "
                  "unset OCTET_ISA to use the best",
                  known ? "unsupported" : "unknown", name, names(supported)));
}

std::vector<Isa> supported_isas() {
  std::vector<Isa> result{Isa::baseline};
#ifdef OCTET_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    result.push_back(Isa::avx2);
    if (has_avx_vnni()) result.push_back(Isa::avx_vnni);
#ifdef OCTET_AVX512
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl")) {
      result.push_back(Isa::avx512);
      if (__builtin_cpu_supports("avx512vnni")) {
        result.push_back(Isa::avx512_vnni);
        if (__builtin_cpu_supports("avx512vbmi") && has_amx()) {
          result.push_back(Isa::avx512_amx);
        }
      }
    }
#endif
  }
#endif
  return result;
}

Isa active_isa() { return active().isa; }

void set_active_isa(Isa isa) {
  for (const Isa known : supported_isas()) {
    if (known == isa) {
      active().isa = isa;
      active().table = &table_of(isa);
      return;
    }
  }
  throw UnsupportedError(
      "unsupported_value", "instruction set",
      fmt::format("'{}' is not supported; this machine supports {}",
                  to_string(isa), names(supported_isas())));
}

const kernels::Table& kernels::table() { return *active().table; }

}  // namespace octet
