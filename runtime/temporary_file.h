// A file that has contents but not yet its name. Internal to runtime.
#pragma once

#include <filesystem>

#include <sys/types.h>

#include "descriptor.h"

namespace octet {

/// Where the file system can, the file has no name until put_in_place().
/// Elsewhere, and for the moment before it is renamed, it is called
/// ".NAME.octet-0" beside its target (-1, ... while others write the same one).
/// The process that writes it holds a lock on it, which ends with the process:
/// the next one that writes the same target removes what has no lock.
class TemporaryFile {
 public:
  /// An empty file of that mode under the process's umask. `target` is no link.
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
  std::filesystem::path name_;  ///< empty while it has none
  Descriptor descriptor_;
};

}  // namespace octet
