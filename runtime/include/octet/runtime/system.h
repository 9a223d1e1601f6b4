// The process: instruction set of the kernels, cached memory, version; traces
// and checks for debugging, selected by environment variables or here:
//
//   OCTET_TRACE=ops,alloc OCTET_TRACE_FILE=trace.json ./program
//   set_diagnostics({.trace = "ops", .check_nan = true});
//
// Traces and checks cost one branch where they are off. Thread-safe, except
// set_diagnostics().
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/detail/language.h>
#include <octet/runtime/tensor.h>

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

/// Events that OCTET_TRACE reports, by name.
enum class TraceKind : uint32_t {
  ops = 1,      ///< each op, gradient and program step: layer, shape, duration
  program = 2,  ///< programs after each pass of their compilation
  alloc = 4,    ///< buffers of tensors: size, bytes in use
  import = 8,   ///< nodes and layers of imported files
  passes = 16,  ///< passes over ONNX graphs: number of nodes before and after
};

/// Fields in order: trace, trace_file, check_nan
struct DiagnosticOptions {
  /// Names of TraceKind, separated by commas; empty: no trace.
  std::string trace = {};
  /// File for the events ops, alloc and import as Chrome trace JSON, which
  /// ui.perfetto.dev opens. Empty: lines on standard error. With a file and an
  /// empty `trace`, ops are traced.
  std::string trace_file = {};
  /// Throw a ValueError ("not_finite") that names the first op, gradient or
  /// program step whose result contains NaN or infinity, and its layer. Slow.
  bool check_nan = false;
};

/// Replaces the settings and completes the current trace file. Not while other
/// threads compute.
/// Throws: ValueError for an unknown name in `trace`, with the list; IoError if
/// the file cannot be written. The settings then stay unchanged.
void set_diagnostics(const DiagnosticOptions& options);
/// Returns the current settings. The initial settings are those of the
/// environment variables OCTET_TRACE, OCTET_TRACE_FILE and OCTET_CHECK_NAN ("1"
/// or "0").
/// Throws: as set_diagnostics(), for the environment variables.
DiagnosticOptions diagnostics();

namespace detail {

inline constexpr uint32_t kChecksNan = 1u << 30;
inline constexpr uint32_t kUnread = 1u << 31;
/// Bits of TraceKind and above.
extern std::atomic<uint32_t> diagnostic_bits;
/// Reads the environment variables unless done.
uint32_t read_diagnostics();

inline bool diagnoses(uint32_t bits) {
  uint32_t on = diagnostic_bits.load(std::memory_order_relaxed);
  if (on == 0) return false;
  if ((on & kUnread) != 0) on = read_diagnostics();
  return (on & bits) != 0;
}

/// Like traces(), but false before the environment variables are read. Does
/// not throw.
inline bool has_read(TraceKind kind) noexcept {
  const uint32_t on = diagnostic_bits.load(std::memory_order_relaxed);
  return (on & kUnread) == 0 && (on & static_cast<uint32_t>(kind)) != 0;
}

}  // namespace detail

/// Whether events of this kind are reported.
inline bool traces(TraceKind kind) {
  return detail::diagnoses(static_cast<uint32_t>(kind));
}
/// Whether ops check their results for NaN and infinity.
inline bool checks_nan() { return detail::diagnoses(detail::kChecksNan); }

/// Throws: ValueError ("not_finite") with `subject` if x contains NaN or
/// infinity.
void check_finite(const Tensor& x, std::string_view subject);

/// Reports an event at this time: a line "import Conv 'n1': Conv2D" for kind
/// "import", name "Conv 'n1'" and detail "Conv2D".
void trace_event(TraceKind kind, std::string_view name,
                 std::string_view detail);

/// Names the layer of the ops of this thread, for the scope's lifetime. Model
/// does so for its layers. The string must outlive the scope.
class LayerScope {
 public:
  /// Sets the layer's name, for the scope's lifetime.
  explicit LayerScope(const std::string& layer) {
    constexpr auto kOps = static_cast<uint32_t>(TraceKind::ops);
    if (detail::diagnoses(kOps | detail::kChecksNan)) enter(layer);
  }
  ~LayerScope() {
    if (entered_) leave();
  }
  LayerScope(const LayerScope&) = delete;
  LayerScope& operator=(const LayerScope&) = delete;

 private:
  void enter(const std::string& layer);
  void leave() noexcept;

  bool entered_ = false;
  const std::string* before_ = nullptr;
  int64_t begin_ = 0;  // nanoseconds
};

}  // namespace octet
