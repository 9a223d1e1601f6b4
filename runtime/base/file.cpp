#include <algorithm>
#include <cerrno>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "descriptor.h"
#include "temporary_file.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Opens a file and gets its status. Does not block on pipes.
int open_to_read(const fs::path& path, struct stat& status) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0) ::fstat(fd, &status);
  return fd;
}

int open_folder(const fs::path& folder) {
  check_path(folder, "folder");
  return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/// Reads up to `most` bytes from the current position of a file of `size`.
std::string read_on(int fd, int64_t most, int64_t size, const fs::path& path) {
  std::string contents;
  try {
    contents.reserve(static_cast<size_t>(std::min(most, size)));
  } catch (const std::bad_alloc&) {
    throw IoError(
        "memory_limit", path.string(),
        fmt::format("out of memory: cannot allocate {} bytes to read the file",
                    std::min(most, size)));
  }
  char block[1 << 16];
  while (most > 0) {
    const auto count = std::min<int64_t>(most, sizeof block);
    const ssize_t got = ::read(fd, block, static_cast<size_t>(count));
    if (got < 0) {
      if (errno == EINTR) continue;
      fail("cannot_read", path, "read", errno);
    }
    if (got == 0) break;
    contents.append(block, static_cast<size_t>(got));
    most -= got;
  }
  return contents;
}

}  // namespace

std::string read_file(const fs::path& path, int64_t limit) {
  check_path(path, "file");
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  if (!file.is_open()) fail("cannot_read", path, "open", errno);
  if (!S_ISREG(status.st_mode)) {
    throw IoError("cannot_read", path.string(),
                  fmt::format("is {}, not a file{}", kind_of(status.st_mode),
                              S_ISFIFO(status.st_mode)
                                  ? ". Hint: write its contents to a file first"
                                  : ""));
  }
  if (status.st_size > limit) {
    throw IoError("size_limit", path.string(),
                  fmt::format("has {} bytes, more than the limit of {}",
                              status.st_size, limit));
  }
  std::string contents = read_on(file.get(), limit + 1, status.st_size, path);
  if (static_cast<int64_t>(contents.size()) > limit) {
    throw IoError("size_limit", path.string(),
                  fmt::format("has more than {} bytes, the limit", limit));
  }
  return contents;
}

std::string read_part(const fs::path& path, int64_t offset, int64_t count) {
  if (path.native().find('\0') != std::string::npos) return "";
  struct stat status {};
  const Descriptor file(open_to_read(path, status));
  if (!file.is_open() || !S_ISREG(status.st_mode)) return "";
  const int from = offset < 0 ? SEEK_END : SEEK_SET;
  if (::lseek(file.get(), offset, from) < 0) return "";
  try {
    return read_on(file.get(), count, status.st_size, path);
  } catch (const IoError&) {
    return "";
  }
}

FolderLock::FolderLock(const fs::path& folder)
    : descriptor_(open_folder(folder)) {
  if (descriptor_ < 0) fail("cannot_read", folder, "open the folder", errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(descriptor_);
    if (error != EWOULDBLOCK)
      fail("cannot_write", folder, "lock the folder", error);
    throw IoError("cannot_write", folder.string(),
                  "another process is writing to this folder. Hint: wait for "
                  "it or choose another folder");
  }
}

FolderLock::~FolderLock() { ::close(descriptor_); }

void ensure_writable_folder(const fs::path& folder) {
  check_path(folder, "folder");
  std::error_code error;
  std::error_code ignored;
  std::vector<fs::path> made;
  for (fs::path each = folder; !each.empty() && !fs::exists(each, ignored);
       each = each.parent_path()) {
    made.push_back(each);
  }
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder, ignored)) {
    throw IoError("cannot_write", folder.string(),
                  fmt::format("cannot create the folder: {}", error.message()));
  }
  const TemporaryFile probe(folder / "probe", 0600);
  for (const fs::path& each : made) sync_folder(folder_of(each));
}

}  // namespace octet
