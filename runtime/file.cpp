#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, std::string_view action,
                       int error) {
  throw IoError(fmt::format("{}: cannot {}: {}", path.string(), action,
                            std::strerror(error)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  // Closing can report a write that failed late (quota, network).
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

void write_all(int fd, std::string_view contents, const fs::path& path) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(path, "write", errno);
    }
    contents.remove_prefix(static_cast<size_t>(written));
  }
}

// A rename is only durable once the folder is on the disk. Some file systems
// cannot sync folders; the file itself is safe then.
void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (descriptor.get() >= 0) ::fsync(descriptor.get());
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

}  // namespace

std::string read_file(const fs::path& path, int64_t limit) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) fail(path, "open", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) fail(path, "read", errno);
  if (S_ISDIR(status.st_mode)) fail(path, "read", EISDIR);
  if (status.st_size > limit) {
    throw IoError(fmt::format("{}: expected at most {} bytes, got {}",
                              path.string(), limit, status.st_size));
  }
  std::string contents;
  contents.reserve(static_cast<size_t>(status.st_size));
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(descriptor.get(), block, sizeof block);
    if (got < 0) {
      if (errno == EINTR) continue;
      fail(path, "read", errno);
    }
    if (got == 0) return contents;
    contents.append(block, static_cast<size_t>(got));
    if (static_cast<int64_t>(contents.size()) > limit) {
      throw IoError(fmt::format("{}: expected at most {} bytes, got more",
                                path.string(), limit));
    }
  }
}

void write_file(const fs::path& path, std::string_view contents) {
  std::string pattern =
      (folder_of(path) / fmt::format(".{}.XXXXXX", path.filename().string()))
          .string();
  Descriptor descriptor(::mkstemp(pattern.data()));
  if (descriptor.get() < 0) fail(path, "create a file beside it", errno);
  const fs::path temporary = pattern;
  try {
    write_all(descriptor.get(), contents, path);
    // mkstemp makes private files; these are meant to be shared.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(descriptor.get(), 0666 & ~mask);
    if (::fsync(descriptor.get()) != 0) fail(path, "write", errno);
    if (descriptor.close() != 0) fail(path, "write", errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
      fail(path, "put it in place", errno);
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  sync_folder(folder_of(path));
}

void ensure_writable_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder)) {
    throw IoError(fmt::format("{}: cannot create the folder: {}",
                              folder.string(), error.message()));
  }
  std::string pattern = (folder / ".octet.XXXXXX").string();
  const Descriptor probe(::mkstemp(pattern.data()));
  if (probe.get() < 0) fail(folder, "write to the folder", errno);
  ::unlink(pattern.c_str());
}

}  // namespace octet
