// What all readers do with FileLimits. Internal to io.
#pragma once

#include <chrono>

#include <octet/io/file_limits.h>

namespace octet::io {

/// Throws: ValueError for a limit that nothing can keep to.
void check_limits(const FileLimits& limits);

/// When so many seconds are over: far away, but a time, for infinity.
std::chrono::steady_clock::time_point deadline_in(
    std::chrono::duration<double> seconds);

}  // namespace octet::io
