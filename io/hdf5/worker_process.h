// The worker's side: gives up what it does not need, then responds to requests
// about one file until its parent is gone. Internal to io/hdf5.
#pragma once

#include <string_view>

#include <sys/types.h>

#include "reader.h"

namespace octet::io {

/// Runs after fork(), where other threads of the parent are gone and what they
/// had locked stays locked: it uses the heap (glibc keeps that sound), libhdf5
/// and the socket, and none of Octet's threads, tensors or warnings. `parent`
/// is the process, with which it ends whatever it is doing.
[[noreturn]] void run_worker(int socket, pid_t parent,
                             std::string_view contents,
                             const FileLimits& limits,
                             Hdf5Hook before_response) noexcept;

}  // namespace octet::io
