#include "descriptor.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <octet/runtime/error.h>

namespace octet {

namespace fs = std::filesystem;

void Descriptor::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

std::string_view kind_of(mode_t mode) {
  if (S_ISREG(mode)) return "a file";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void check_path(const fs::path& path, std::string_view subject) {
  if (path.empty()) {
    throw IoError("missing_value", subject, "path is empty");
  }
  if (path.native().find('\0') != std::string::npos) {
    throw IoError("invalid_value", subject,
                  fmt::format("path '{}' contains a NUL byte", path.string()));
  }
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void fail(ErrorCode code, const fs::path& path, std::string_view action,
          int error) {
  throw IoError(error == ENOENT ? ErrorCode("file_not_found") : code,
                path.string(),
                fmt::format("cannot {}: {}", action, std::strerror(error)));
}

void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open() || ::fsync(descriptor.get()) == 0) return;
  const bool cannot = errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  if (!cannot) fail("cannot_write", folder, "write the folder", errno);
}

}  // namespace octet
