#include "temporary_file.h"

#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace octet {
namespace {

namespace fs = std::filesystem;

/// Most concurrent writers of a target.
constexpr int kSlots = 32;

fs::path slot_of(const fs::path& target, int slot) {
  // File systems allow 255 bytes, which the target may use fully.
  constexpr size_t kMostOfName = 200;
  return folder_of(target) /
         fmt::format(".{}.octet-{}",
                     target.filename().string().substr(0, kMostOfName), slot);
}

[[noreturn]] void fail_in_folder(const fs::path& target, int error) {
  fail("cannot_write", folder_of(target), "write to the folder", error);
}

std::string path_of(const Descriptor& descriptor) {
  return fmt::format("/proc/self/fd/{}", descriptor.get());
}

// Invariant: only the lock holder of a file changes the file's name.
enum class Lock { mine, of_another, none_here };

Lock lock(const Descriptor& file) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return Lock::mine;
  return errno == EWOULDBLOCK ? Lock::of_another : Lock::none_here;
}

bool is_name_of(const fs::path& name, const Descriptor& file) {
  struct stat named {};
  struct stat open {};
  return ::lstat(name.c_str(), &named) == 0 &&
         ::fstat(file.get(), &open) == 0 && named.st_dev == open.st_dev &&
         named.st_ino == open.st_ino && S_ISREG(open.st_mode);
}

bool is_removed(const Descriptor& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && status.st_nlink == 0;
}

/// Removes files that killed processes left beside `target`.
void remove_leftovers(const fs::path& target) {
  for (int i = 0; i < kSlots; ++i) {
    const fs::path slot = slot_of(target, i);
    const Descriptor left(
        ::open(slot.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (left.is_open() && lock(left) == Lock::mine && is_name_of(slot, left)) {
      ::unlink(slot.c_str());
    }
  }
}

}  // namespace

TemporaryFile::TemporaryFile(fs::path target, mode_t mode)
    : target_(std::move(target)) {
  remove_leftovers(target_);
  open_unnamed(mode);
  if (!descriptor_.is_open()) open_named(mode);
}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
}

void TemporaryFile::put_in_place() {
  if (name_.empty()) give_name();
  if (::rename(name_.c_str(), target_.c_str()) != 0) {
    fail("cannot_write", target_, "rename it", errno);
  }
  name_.clear();
}

void TemporaryFile::open_unnamed(mode_t mode) {
#ifdef O_TMPFILE
  descriptor_.reset(::open(folder_of(target_).c_str(),
                           O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  if (!descriptor_.is_open()) return;
  // give_name() needs /proc, which is not mounted everywhere.
  if (::access(path_of(descriptor_).c_str(), F_OK) != 0) descriptor_.reset();
  if (descriptor_.is_open()) lock(descriptor_);
#endif
}

void TemporaryFile::open_named(mode_t mode) {
  for (int i = 0; i < kSlots; ++i) {
    const fs::path slot = slot_of(target_, i);
    descriptor_.reset(
        ::open(slot.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!descriptor_.is_open()) {
      if (errno == EEXIST) continue;
      fail_in_folder(target_, errno);
    }
    // Another process may have removed it as a leftover before it was locked.
    if (lock(descriptor_) == Lock::of_another || is_removed(descriptor_)) {
      continue;
    }
    name_ = slot;
    return;
  }
  fail_in_folder(target_, EEXIST);
}

void TemporaryFile::give_name() {
  const std::string self = path_of(descriptor_);
  for (int i = 0; i < kSlots; ++i) {
    const fs::path slot = slot_of(target_, i);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, slot.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      name_ = slot;
      return;
    }
    if (errno != EEXIST) break;
  }
  fail_in_folder(target_, errno);
}

}  // namespace octet
