// Resource limits for reading untrusted files.
#pragma once

#include <cstdint>

#include <octet/runtime/detail/language.h>

namespace octet::io {

/// Process in which the parser library runs.
enum class Isolation {
  child_process,  ///< a crash of the library becomes an error
  none,           ///< this process, for trusted files
};

struct FileLimits {
  Isolation isolation = Isolation::child_process;
  /// Bytes that parsing may allocate; also a limit of a loaded model's weights,
  /// and of its activations for one sample.
  int64_t memory_limit = int64_t{4} << 30;
  double time_limit = 120;  ///< seconds
};

}  // namespace octet::io
