#include "new_file.h"

#include <cerrno>
#include <charconv>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

namespace fs = std::filesystem;
using Status = struct stat;
using Destination = NewFile::Destination;

/// Throws IoError for a failed write, with a hint for the file size limit.
[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  if (error != EFBIG) fail("cannot_write", path, "write", error);
  throw IoError("size_limit", path.string(),
                "cannot write: File too large. Hint: raise the file size limit "
                "(ulimit -f)");
}

void write_all(int fd, std::string_view contents, const fs::path& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_to_write(path, errno);
    }
    contents.remove_prefix(static_cast<size_t>(written));
  }
}

/// Whether a link in /proc refers to an open file of a process, as behind
/// /dev/stdout. Its text is not a path.
bool is_link_to_open_file(const fs::path& link) {
  struct statfs system {};
  return ::statfs(folder_of(link).c_str(), &system) == 0 &&
         system.f_type == PROC_SUPER_MAGIC;
}

/// Follows links to a path that may not exist. The result is not a link, except
/// to an open file.
fs::path end_of_links(const fs::path& path) {
  constexpr int kMostLinks = 40;  // as in the kernel
  fs::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    if (!fs::is_symlink(at, error) || is_link_to_open_file(at)) return at;
    at = folder_of(at) / fs::read_symlink(at, error);
    if (error) fail("cannot_write", path, "follow the link", error.value());
  }
  fail("cannot_write", path, "follow the link", ELOOP);
}

/// Throws: IoError for a destination that is neither a file nor a stream.
Destination destination_of(const fs::path& path) {
  check_path(path, "file");
  Destination to{.path = end_of_links(path)};
  Status status{};
  if (::stat(to.path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail("cannot_write", path, "write", errno);
    std::error_code ignored;
    if (fs::exists(folder_of(to.path), ignored)) return to;
    throw IoError(
        "file_not_found", path.string(),
        fmt::format("the folder '{}' does not exist. Hint: create it first",
                    folder_of(to.path).string()));
  }
  to.is_stream =
      S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode) ||
      (S_ISREG(status.st_mode) && fs::is_symlink(fs::symlink_status(to.path)));
  if (to.is_stream) return to;
  if (!S_ISREG(status.st_mode)) {
    throw IoError("cannot_write", path.string(),
                  fmt::format("is {}, not a file", kind_of(status.st_mode)));
  }
  to.replaced = status;
  return to;
}

/// The descriptor of this process that `path`, a link to an open file, refers
/// to; -1 if none.
int own_descriptor(const fs::path& path) {
  if (!fs::is_symlink(fs::symlink_status(path))) return -1;
  const std::string name = path.filename().string();
  int number = -1;
  std::from_chars(name.data(), name.data() + name.size(), number);
  Status named{};
  Status open{};
  const bool is_own =
      ::stat(path.c_str(), &named) == 0 && ::fstat(number, &open) == 0 &&
      named.st_dev == open.st_dev && named.st_ino == open.st_ino;
  return is_own ? number : -1;
}

void write_stream(const fs::path& path, std::string_view contents) {
  // Own descriptors continue at their current position: the file behind
  // /dev/stdout may already have contents.
  const int own = own_descriptor(path);
  const Descriptor stream(
      own >= 0
          ? ::fcntl(own, F_DUPFD_CLOEXEC, 0)
          : ::open(path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
  if (!stream.is_open()) fail("cannot_write", path, "open", errno);
  write_all(stream.get(), contents, path);
}

/// Copies owner, group and mode of the replaced file; restricts the mode if
/// owner or group cannot be set.
void keep_rights(int fd, const Status& old) {
  mode_t mode = old.st_mode & 07777u;
  if (::fchown(fd, old.st_uid, old.st_gid) != 0) {
    mode &= 0777u;
    if (::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
      mode &= 0707u | ((mode & 7u) << 3);  // a different group: as others
    }
  }
  ::fchmod(fd, mode);
}

}  // namespace

NewFile::NewFile(const fs::path& path,
                 const std::function<void(const PutBytes& put)>& write)
    : to_(destination_of(path)) {
  if (to_.is_stream) {
    write([this](std::string_view bytes) { waiting_ += bytes; });
    return;
  }
  // Never more readable than the replaced file.
  with_context(
      [&] { return fmt::format("writing '{}'", path.string()); },
      [&] { temporary_.emplace(to_.path, to_.replaced ? 0600 : 0666); });
  const int fd = temporary_->descriptor();
  write([&](std::string_view bytes) { write_all(fd, bytes, path); });
  if (to_.replaced) keep_rights(fd, *to_.replaced);
  if (::fsync(fd) != 0) fail("cannot_write", path, "write", errno);
}

void NewFile::put_in_place() {
  if (to_.is_stream) {
    write_stream(to_.path, waiting_);
  } else {
    temporary_->put_in_place();
  }
}

void NewFile::remove_old() const {
  if (to_.replaced && ::unlink(to_.path.c_str()) != 0) {
    fail("cannot_write", to_.path, "remove the old file", errno);
  }
}

void NewFile::sync_name() const {
  if (!to_.is_stream) sync_folder(folder_of(to_.path));
}

}  // namespace octet
