#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
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
  void reset(int fd) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

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
  const Descriptor descriptor(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0 || ::fsync(descriptor.get()) == 0) return;
  const bool cannot = errno == EINVAL || errno == ENOTSUP || errno == EROFS;
  if (!cannot) fail(folder, "write the folder", errno);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// What a place may be missing that nothing can be written to.
void check_place(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(folder_of(path), ignored)) {
    throw IoError(
        fmt::format("{}: expected a folder '{}' to write into, got none. Hint: "
                    "create it",
                    path.string(), folder_of(path).string()));
  }
  if (fs::is_directory(path, ignored)) {
    throw IoError(fmt::format(
        "{}: expected the name of a file to write, got a folder. Hint: '{}'",
        path.string(), (path / "NAME").string()));
  }
}

}  // namespace

std::string read_file(const fs::path& path, int64_t limit) {
  if (path.empty()) throw IoError("file: expected a path, got an empty one");
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) fail(path, "open", errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) fail(path, "read", errno);
  if (S_ISDIR(status.st_mode)) fail(path, "read", EISDIR);
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    throw IoError(
        fmt::format("{}: expected a file, got a device", path.string()));
  }
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

// A file that has contents but not yet its name. Where the file system can,
// it has no name at all until then; elsewhere a temporary one.
struct FileSet::File {
  File(const fs::path& p, std::string_view contents)
      : path(p), descriptor(open_unnamed()) {
    check_place(path);
    if (descriptor.get() < 0) make_temporary();
    try {
      write_all(descriptor.get(), contents, path);
      if (::fsync(descriptor.get()) != 0) fail(path, "write", errno);
    } catch (...) {
      discard();
      throw;
    }
  }
  ~File() { discard(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void put_in_place() {
    if (temporary.empty()) make_named();
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
      fail(path, "put it in place", errno);
    }
    temporary.clear();
  }

  fs::path path;

 private:
  int open_unnamed() const {
#ifdef O_TMPFILE
    return ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC,
                  0666);
#else
    return -1;
#endif
  }

  // A process of this number that was killed may have left a file.
  void make_named() {
    constexpr int kMostTries = 100;
    const std::string self = fmt::format("/proc/self/fd/{}", descriptor.get());
    for (int attempt = 0;; ++attempt) {
      const std::string name =
          attempt == 0 ? temporary_name()
                       : fmt::format("{}.{}", temporary_name(), attempt);
      if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
                   AT_SYMLINK_FOLLOW) == 0) {
        temporary = name;
        return;
      }
      if (errno != EEXIST || attempt == kMostTries) {
        fail(path, "create a file beside it", errno);
      }
    }
  }

  void make_temporary() {
    std::string pattern = temporary_name() + ".XXXXXX";
    descriptor.reset(::mkstemp(pattern.data()));
    if (descriptor.get() < 0) fail(path, "create a file beside it", errno);
    temporary = pattern;
    // mkstemp makes private files; these are meant to be shared.
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(descriptor.get(), 0666 & ~mask);
  }

  // Unique among processes and, by the descriptor, within this one.
  std::string temporary_name() const {
    return (folder_of(path) / fmt::format(".{}.{}.{}", path.filename().string(),
                                          ::getpid(), descriptor.get()))
        .string();
  }

  void discard() {
    if (!temporary.empty()) ::unlink(temporary.c_str());
  }

  Descriptor descriptor;
  std::string temporary;
};

FileSet::FileSet() = default;
FileSet::~FileSet() = default;

void FileSet::add(const fs::path& path, std::string_view contents) {
  if (path.empty()) throw IoError("file: expected a path, got an empty one");
  files_.push_back(std::make_unique<File>(path, contents));
}

void FileSet::commit() {
  for (const auto& file : files_) file->put_in_place();
  std::set<fs::path> folders;
  for (const auto& file : files_) folders.insert(folder_of(file->path));
  for (const fs::path& folder : folders) sync_folder(folder);
  files_.clear();
}

void write_file(const fs::path& path, std::string_view contents) {
  FileSet files;
  files.add(path, contents);
  files.commit();
}

FolderLock::FolderLock(const fs::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail(folder, "open the folder", errno);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(descriptor_);
    if (error != EWOULDBLOCK) fail(folder, "lock the folder", error);
    throw IoError(fmt::format(
        "{}: expected to be the only one to write here, but another process "
        "does; wait for it or choose another folder",
        folder.string()));
  }
}

FolderLock::~FolderLock() { ::close(descriptor_); }

void ensure_writable_folder(const fs::path& folder) {
  if (folder.empty())
    throw IoError("folder: expected a path, got an empty one");
  std::error_code error;
  std::error_code ignored;
  std::vector<fs::path> made;
  for (fs::path each = folder; !each.empty() && !fs::exists(each, ignored);
       each = each.parent_path()) {
    made.push_back(each);
  }
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder, ignored)) {
    throw IoError(fmt::format("{}: cannot create the folder: {}",
                              folder.string(), error.message()));
  }
  std::string pattern = (folder / ".octet.XXXXXX").string();
  const Descriptor probe(::mkstemp(pattern.data()));
  if (probe.get() < 0) fail(folder, "write to the folder", errno);
  ::unlink(pattern.c_str());
  for (const fs::path& each : made) sync_folder(folder_of(each));
}

}  // namespace octet
