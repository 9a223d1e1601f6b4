// What the tests of io share: a folder of their own, and the message of the
// error that is expected.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>

#include <stdlib.h>

#include <octet/runtime/error.h>

namespace octet::io {

/// A new folder, removed with everything in it.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "octet_io.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a temporary folder");
    }
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }
  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

/// The full text, context included, of the Expected that `body` throws;
/// "" if nothing or something else is thrown.
template <class Expected, class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    return "";
  }
  return "";
}

}  // namespace octet::io
