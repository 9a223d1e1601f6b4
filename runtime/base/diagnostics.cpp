#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "trace_events.h"

namespace octet {
namespace {

struct NamedTrace {
  std::string_view name;
  TraceKind kind;
};
constexpr NamedTrace kTraceKinds[] = {{"ops", TraceKind::ops},
                                      {"program", TraceKind::program},
                                      {"alloc", TraceKind::alloc},
                                      {"import", TraceKind::import},
                                      {"passes", TraceKind::passes}};

std::mutex settings_mutex;
// Static tensors may need them before other statics of this file exist.
DiagnosticOptions& settings() {
  static DiagnosticOptions* const instance = new DiagnosticOptions;
  return *instance;
}

uint32_t bit_of(std::string_view name) {
  std::vector<std::string> names;
  for (const NamedTrace& known : kTraceKinds) {
    if (known.name == name) return static_cast<uint32_t>(known.kind);
    names.emplace_back(known.name);
  }
  throw ValueError("unknown_name", "OCTET_TRACE",
                   fmt::format("unknown trace '{}'; expected a list of {}",
                               name, fmt::join(names, ", ")));
}

uint32_t bits_of(const DiagnosticOptions& options) {
  uint32_t bits = options.check_nan ? detail::kChecksNan : 0;
  std::string_view rest = options.trace;
  while (!rest.empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    bits |= bit_of(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (!options.trace_file.empty() && options.trace.empty()) {
    bits |= static_cast<uint32_t>(TraceKind::ops);
  }
  return bits;
}

std::string environment_text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

DiagnosticOptions environment_settings() {
  const std::string check = environment_text("OCTET_CHECK_NAN");
  if (!check.empty() && check != "0" && check != "1") {
    throw ValueError("invalid_value", "OCTET_CHECK_NAN",
                     fmt::format("must be 0 or 1, got '{}'", check));
  }
  return {.trace = environment_text("OCTET_TRACE"),
          .trace_file = environment_text("OCTET_TRACE_FILE"),
          .check_nan = check == "1"};
}

// With settings_mutex locked.
void apply(const DiagnosticOptions& options) {
  const uint32_t bits = bits_of(options);
  diagnosis::set_trace_file(options.trace_file);
  settings() = options;
  detail::diagnostic_bits = bits;
}

}  // namespace

namespace detail {

std::atomic<uint32_t> diagnostic_bits{kUnread};

uint32_t read_diagnostics() {
  const std::lock_guard lock(settings_mutex);
  if ((diagnostic_bits & kUnread) != 0) apply(environment_settings());
  return diagnostic_bits;
}

}  // namespace detail

void set_diagnostics(const DiagnosticOptions& options) {
  const std::lock_guard lock(settings_mutex);
  apply(options);
}

DiagnosticOptions diagnostics() {
  (void)detail::read_diagnostics();
  const std::lock_guard lock(settings_mutex);
  return settings();
}

void trace_event(TraceKind kind, std::string_view name,
                 std::string_view detail) {
  if (!traces(kind)) return;
  for (const NamedTrace& known : kTraceKinds) {
    if (known.kind == kind) diagnosis::write_event(known.name, name, detail);
  }
}

}  // namespace octet
