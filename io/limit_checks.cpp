#include "limit_checks.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/detail/load_limits.h>
#include <octet/runtime/error.h>

namespace octet::io {

void check_limits(const FileLimits& limits) {
  if (!(limits.time_limit > 0)) {
    throw ValueError(
        "out_of_range", "FileLimits.time_limit",
        fmt::format("must be positive, got {} s", limits.time_limit));
  }
  if (limits.memory_limit <= 0) {
    throw ValueError(
        "out_of_range", "FileLimits.memory_limit",
        fmt::format("must be positive, got {} bytes", limits.memory_limit));
  }
}

void check_activations(const Model& model, const FileLimits& limits) {
  const ActivationMemory memory = activation_memory(model);
  if (memory.bytes <= limits.memory_limit) return;
  constexpr int64_t kMiB = int64_t{1} << 20;
  throw FormatError(
      "memory_limit", fmt::format("model '{}'", model.name()),
      fmt::format(
          "activations of one sample need {} MiB, more than the limit of {} "
          "MiB; the largest is the output of {}, {}. Hint: if you trust the "
          "file, raise FileLimits.memory_limit (--memory-limit)",
          memory.bytes / kMiB, limits.memory_limit / kMiB,
          memory.largest->layer->describe(),
          memory.largest->shape.to_string()));
}

std::chrono::steady_clock::time_point deadline_in(
    std::chrono::duration<double> seconds) {
  using Clock = std::chrono::steady_clock;
  // A clock's range is smaller than that of double.
  constexpr std::chrono::duration<double> kLongest(1e9);
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::min(seconds, kLongest));
}

}  // namespace octet::io
