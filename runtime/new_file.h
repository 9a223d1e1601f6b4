// Contents on their way to a path. Internal to runtime.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <sys/stat.h>

#include <octet/runtime/file.h>

#include "temporary_file.h"

namespace octet {

/// A file that is on the disk and not yet in place, or what a stream will get.
class NewFile {
 public:
  /// Where a path leads to, past all links.
  struct Destination {
    std::filesystem::path path;
    std::optional<struct stat> replaced = {};  ///< the file that is there
    bool is_stream = false;  ///< a pipe, device or open file: not replaced
  };

  /// Throws: IoError; what `write` throws.
  NewFile(const std::filesystem::path& path,
          const std::function<void(const PutBytes& put)>& write);

  /// Throws: IoError.
  void put_in_place();
  /// Removes the file that this one is to replace. Throws: IoError.
  void remove_old() const;
  /// Makes what was done to the name last a power failure. Throws: IoError.
  void sync_name() const;

 private:
  Destination to_;
  std::string waiting_;  ///< for a stream
  std::optional<TemporaryFile> temporary_;
};

}  // namespace octet
