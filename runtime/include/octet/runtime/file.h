// Files: checked reads, atomic writes, and limits for untrusted files.
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

#include <octet/runtime/detail/language.h>

namespace octet {

class NewFile;

// Resource limits for reading untrusted files.

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

// Reading and writing.

/// Returns the contents of a file. Throws: IoError with path and reason
/// (missing, unreadable, a folder, pipe or device, larger than `limit` bytes).
std::string read_file(const std::filesystem::path& path,
                      int64_t limit = int64_t{1} << 31);

/// Returns `count` bytes from `offset` (from the end if negative), fewer at the
/// end of the file. Empty for files that read_file() rejects.
std::string read_part(const std::filesystem::path& path, int64_t offset,
                      int64_t count);

/// Replaces a file atomically: writes a temporary file beside `path`, syncs it,
/// renames it and syncs the folder. Readers see the old or the new file, never
/// a mixture, even after a power failure. On failure (disk full, no permission)
/// the old file stays and the temporary is removed; the temporary of a killed
/// process is removed by the next write of `path`.
///
/// Symbolic links are followed: their target is replaced or created. The file
/// keeps the old mode, and owner and group if the process may set them. Pipes,
/// terminals and character devices (/dev/null, /dev/stdout) are written in
/// place.
/// Throws: IoError, also for folders, sockets and block devices.
void write_file(const std::filesystem::path& path, std::string_view contents);

/// Appends bytes to a file.
using PutBytes = std::function<void(std::string_view bytes)>;
/// Writes a file in pieces: `write` passes them to `put`. The old file stays if
/// `write` throws.
void write_file(const std::filesystem::path& path,
                const std::function<void(const PutBytes& put)>& write);

/// A set of files with a manifest that marks the set as complete. add() writes
/// files without a name; commit() removes the old manifest, renames the files
/// and writes the new manifest last. A killed process or a power failure leaves
/// the old set, the new set, or a set without manifest, which readers reject.
/// Without commit() nothing is left behind.
class FileSet {
 public:
  /// An empty set.
  FileSet();
  ~FileSet();
  FileSet(const FileSet&) = delete;
  FileSet& operator=(const FileSet&) = delete;

  /// Writes the contents of a file that commit() renames to `path`.
  /// Throws: IoError.
  void add(const std::filesystem::path& path, std::string_view contents);
  /// Renames all files, in the order of add().
  /// Throws: IoError; before any change if the manifest cannot be written, else
  /// leaving no manifest.
  void commit(const std::filesystem::path& manifest, std::string_view contents);

 private:
  std::vector<std::unique_ptr<NewFile>> files_;
};

/// Excludes other processes that lock the same folder. Leaves no file behind.
class FolderLock {
 public:
  /// Locks the folder.
  /// Throws: IoError if another process holds the lock.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

/// Creates `folder` with its parents and checks that it is writable.
/// Throws: IoError.
void ensure_writable_folder(const std::filesystem::path& folder);

}  // namespace octet
