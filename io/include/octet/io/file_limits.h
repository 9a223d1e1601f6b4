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

/// Limits of memory and time. Files beyond them are errors.
struct FileLimits {
  /// Process that parses HDF5 files (.h5, .keras and files of save_model()).
  Isolation isolation = Isolation::child_process;
  /// Bytes, > 0, that parsing may allocate; also a limit of a loaded model's
  /// weights, and of its activations for one sample.
  int64_t memory_limit = int64_t{4} << 30;
  /// Seconds, > 0, for parsing an HDF5 file, importing an ONNX file, or a run
  /// of its nodes.
  double time_limit = 120;
};

}  // namespace octet::io
