// Atomic replacement of files. Internal to runtime.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <sys/stat.h>

#include <octet/runtime/file.h>

#include "temporary_file.h"

namespace octet {

/// A file written but not yet renamed, or buffered output of a stream.
class NewFile {
 public:
  /// The target of a path after following links.
  struct Destination {
    std::filesystem::path path;
    std::optional<struct stat> replaced = {};  ///< the existing file
    bool is_stream = false;  ///< a pipe, device or open file: written in place
  };

  /// Throws: IoError; errors of `write`.
  NewFile(const std::filesystem::path& path,
          const std::function<void(const PutBytes& put)>& write);

  /// Throws: IoError.
  void put_in_place();
  /// Removes the file to be replaced. Throws: IoError.
  void remove_old() const;
  /// Syncs the folder entry to the disk. Throws: IoError.
  void sync_name() const;

 private:
  Destination to_;
  std::string waiting_;  ///< output for a stream
  std::optional<TemporaryFile> temporary_;
};

}  // namespace octet
