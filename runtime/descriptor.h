// What the sources that touch files share. Internal to runtime.
#pragma once

#include <filesystem>
#include <string_view>

#include <sys/types.h>

namespace octet {

/// An open file, closed at the end.
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

/// "a folder", "a pipe": what a mode of stat() says that a path leads to.
std::string_view kind_of(mode_t mode);

/// Throws: IoError for an empty path and for one with a NUL, at which the
/// system would end it.
void check_path(const std::filesystem::path& path, std::string_view subject);

std::filesystem::path folder_of(const std::filesystem::path& path);

/// Throws IoError: "PATH: cannot ACTION: what errno `error` means".
[[noreturn]] void fail(const std::filesystem::path& path,
                       std::string_view action, int error);

/// Puts a folder's names on the disk: a rename is only durable then. Some file
/// systems cannot; the files themselves are safe there. Throws: IoError.
void sync_folder(const std::filesystem::path& folder);

}  // namespace octet
