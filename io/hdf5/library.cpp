#include "library.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "printable.h"

namespace octet::io {
namespace {

herr_t keep_first(unsigned index, const H5E_error2_t* error, void* text) {
  if (index == 0 && error->desc != nullptr) {
    *static_cast<std::string*>(text) = error->desc;
  }
  return 0;
}

}  // namespace

std::string library_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "no reason given" : printable(text);
}

std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

void silence_library() {
  H5open();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLset_loading_state(0);
}

LibraryLock::LibraryLock() : lock_(hdf5_mutex()) {
  H5open();
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5PLget_loading_state(&plugins_);
  silence_library();
}

LibraryLock::~LibraryLock() {
  H5PLset_loading_state(plugins_);
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

void fail_in_library(std::string_view subject, std::string_view action) {
  throw FormatError(
      "malformed_file", subject,
      fmt::format("the HDF5 library cannot {}: {}", action, library_reason()));
}

Handle opened(hid_t id, Handle::Close close, std::string_view subject,
              std::string_view action) {
  if (id < 0) fail_in_library(subject, action);
  return Handle(id, close);
}

}  // namespace octet::io
