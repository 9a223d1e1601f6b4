// The worker's side: drops privileges, then serves requests about one file
// until its parent ends. Internal to io/hdf5.
#pragma once

#include <string_view>

#include <sys/types.h>

#include "reader.h"

namespace octet::io {

/// Runs after fork(), in a process without the parent's other threads, whose
/// locks stay locked: uses the heap (glibc keeps it consistent), libhdf5 and
/// the socket, but none of Octet's threads, tensors or warnings. `parent` is
/// the process with which it ends.
[[noreturn]] void run_worker(int socket, pid_t parent,
                             std::string_view contents,
                             const FileLimits& limits,
                             Hdf5Hook before_response) noexcept;

}  // namespace octet::io
