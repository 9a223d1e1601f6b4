// A file with contents but without its final name. Internal to runtime.
#pragma once

#include <filesystem>

#include <sys/types.h>

#include "descriptor.h"

namespace octet {

/// The file has no name until put_in_place() if the file system supports it.
/// Otherwise, and just before the rename, it is called ".NAME.octet-0" beside
/// its target (-1, ... if several processes write the same target). The writing
/// process holds a lock on it, which ends with the process; the next writer of
/// the target removes unlocked files.
class TemporaryFile {
 public:
  /// Creates an empty file with `mode` under the umask. `target` is not a link.
  /// Throws: IoError.
  TemporaryFile(std::filesystem::path target, mode_t mode);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return descriptor_.get(); }
  const std::filesystem::path& target() const { return target_; }
  /// Replaces the target. Throws: IoError.
  void put_in_place();

 private:
  void open_unnamed(mode_t mode);
  void open_named(mode_t mode);
  void give_name();

  std::filesystem::path target_;
  std::filesystem::path name_;  ///< empty while unnamed
  Descriptor descriptor_;
};

}  // namespace octet
