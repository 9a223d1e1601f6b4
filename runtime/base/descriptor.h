// Helpers for file access. Internal to runtime.
#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

#include <octet/runtime/error.h>

namespace octet {

/// An owned file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  void reset(int fd = -1);

 private:
  int fd_;
};

/// The kind of a file in words: "a folder", "a pipe". `mode` is from stat().
std::string_view kind_of(mode_t mode);

/// Throws: IoError for an empty path or a path with a NUL byte, which would
/// truncate it.
void check_path(const std::filesystem::path& path, std::string_view subject);

std::filesystem::path folder_of(const std::filesystem::path& path);

/// Throws IoError "PATH: cannot ACTION: text of errno `error`", with `code`, or
/// "file_not_found" for ENOENT.
[[noreturn]] void fail(ErrorCode code, const std::filesystem::path& path,
                       std::string_view action, int error);

/// Syncs a folder's entries to the disk, which makes renames durable. Ignores
/// file systems without support, where files are safe by themselves.
/// Throws: IoError.
void sync_folder(const std::filesystem::path& folder);

}  // namespace octet
