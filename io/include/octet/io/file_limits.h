// What a file from elsewhere may cost before its reading is given up.
#pragma once

#include <cstdint>

#include <octet/runtime/language.h>

namespace octet::io {

/// Where the library runs that parses a file.
enum class Isolation {
  child_process,  ///< a crash there is an error here
  none,           ///< in this process, for files that can be trusted
};

struct FileLimits {
  Isolation isolation = Isolation::child_process;
  /// Bytes that what parses the file may take, and also the weights of a model
  /// whose configuration comes from it, and its activations for one sample.
  int64_t memory_limit = int64_t{4} << 30;
  double time_limit = 120;  ///< seconds
};

}  // namespace octet::io
