#include "limit_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/activation_memory.h>
#include <octet/runtime/error.h>

namespace octet::io {

void check_limits(const FileLimits& limits) {
  if (!(limits.time_limit > 0)) {
    throw ValueError(fmt::format(
        "time_limit: expected more than 0 seconds, got {}", limits.time_limit));
  }
  if (limits.memory_limit <= 0) {
    throw ValueError(
        fmt::format("memory_limit: expected more than 0 bytes, got {}",
                    limits.memory_limit));
  }
}

void check_activations(const Model& model, const FileLimits& limits) {
  const ActivationMemory memory = activation_memory(model);
  if (memory.bytes <= limits.memory_limit) return;
  constexpr int64_t kMiB = int64_t{1} << 20;
  throw FormatError(fmt::format(
      "model '{}': activations of one sample need {} MiB, the limit is {} MiB; "
      "the largest are those {}, {}. Hint: if the file can be trusted, "
      "raise "
      "FileLimits::memory_limit (octet: --memory-limit)",
      model.name(), memory.bytes / kMiB, limits.memory_limit / kMiB,
      memory.largest->layer->describe(), memory.largest->shape.to_string()));
}

std::chrono::steady_clock::time_point deadline_in(
    std::chrono::duration<double> seconds) {
  using Clock = std::chrono::steady_clock;
  // A clock's whole range is less than a double's.
  constexpr std::chrono::duration<double> kLongest(1e9);
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::min(seconds, kLongest));
}

}  // namespace octet::io
