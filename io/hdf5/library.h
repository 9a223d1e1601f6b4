// Basics for calls of libhdf5: identifiers that release themselves, the
// library's error text, and its lock. Internal to io/hdf5.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <hdf5.h>

namespace octet::io {

/// An HDF5 identifier with the function that releases it.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);

  Handle(hid_t id, Close close) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }

  hid_t get() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

/// libhdf5 has global state; a worker forked during a call in another thread
/// would inherit it half changed.
std::mutex& hdf5_mutex();

/// Owns hdf5_mutex(). During its lifetime the library prints nothing and loads
/// no plugins; the destructor restores the program's settings.
class LibraryLock {
 public:
  LibraryLock();
  ~LibraryLock();
  LibraryLock(const LibraryLock&) = delete;
  LibraryLock& operator=(const LibraryLock&) = delete;

 private:
  std::scoped_lock<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
  unsigned plugins_ = 0;
};

/// Does the same permanently and without lock, for a worker process.
void silence_library();

/// Returns the reason of the last failure: the innermost entry of the library's
/// error stack.
std::string library_reason();

/// Throws: FormatError "`subject`: the HDF5 library cannot `action`: reason".
[[noreturn]] void fail_in_library(std::string_view subject,
                                  std::string_view action);

/// Returns a handle of `id`. Throws: as fail_in_library() if it is invalid.
Handle opened(hid_t id, Handle::Close close, std::string_view subject,
              std::string_view action);

}  // namespace octet::io
