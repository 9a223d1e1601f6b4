// Files: the checked read and the atomic write that everyone uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/language.h>

namespace octet {

class NewFile;

/// The whole file. Throws: IoError (missing, unreadable, no file but a folder,
/// pipe or device, or larger than `limit` bytes) with path and reason.
std::string read_file(const std::filesystem::path& path,
                      int64_t limit = int64_t{1} << 31);

/// `count` bytes from `offset`, which is counted from the end if it is below 0;
/// fewer where the file ends. None of what read_file() would refuse.
std::string read_part(const std::filesystem::path& path, int64_t offset,
                      int64_t count);

/// Writes beside `path`, flushes to the disk, renames over it and flushes the
/// folder, so that a reader sees the old file or the new one, never a part, and
/// after a power failure, too. On failure (disk full, no permission) the old
/// file stays and the temporary is removed; one that a killed process left
/// goes with the next writing of `path`.
///
/// A link stays and what it leads to is replaced, or made. The file keeps the
/// mode of the old one, and its owner and group where the process may give
/// them. Pipes, terminals and devices of characters (/dev/null, /dev/stdout)
/// are written to as they are.
/// Throws: IoError, also for folders, sockets and devices of blocks.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// Takes the next bytes of a file.
using PutBytes = std::function<void(std::string_view bytes)>;
/// The same piece by piece: `write` gives them one after another, and the old
/// file stays if it throws.
void write_file(const std::filesystem::path& path,
                const std::function<void(const PutBytes& put)>& write);

/// Files that belong together, of which one, the manifest, tells that the set
/// is whole. add() writes each out, but to no name; commit() removes the old
/// manifest, puts the files in place and the new manifest last. So a process
/// that is killed, and a power failure, leave the old set, the new one, or one
/// without a manifest, which a reader does not take.
/// Without commit() nothing is left behind.
class FileSet {
 public:
  FileSet();
  ~FileSet();
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;

  /// Throws: IoError.
  void add(const std::filesystem::path& path, std::string_view contents);
  /// Puts all files in place, in the order of add().
  /// Throws: IoError; before the first change if the manifest cannot be
  /// written out, else without a manifest.
  void commit(const std::filesystem::path& manifest, std::string_view contents);

 private:
  std::vector<std::unique_ptr<NewFile>> files_;
};

/// Keeps other processes that take it out of a folder, for as long as it
/// lives. Leaves nothing in the folder.
class FolderLock {
 public:
  /// Throws: IoError if another process holds it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// Creates `folder` with its parents and proves that files can be written
/// there. Throws: IoError.
void ensure_writable_folder(const std::filesystem::path& folder);

}  // namespace octet
