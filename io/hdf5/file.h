// An HDF5 file in memory, with the checks that let nothing but plain data
// out. All that is read of a file goes through here, in the worker process or,
// without isolation, in this one. It touches no state of the program (no
// tensors, no threads), so that it works after fork(). Internal to io/hdf5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "library.h"
#include "request.h"

namespace octet::io {

/// REQUIRES: for all uses, construction and destruction included: a
/// LibraryLock, or silence_library() in a process of its own.
class Hdf5File {
 public:
  /// `image` must live as long. Throws: FormatError.
  explicit Hdf5File(std::string_view image);

  /// As Hdf5Backend::respond(). Throws: FormatError.
  Config respond(const Hdf5Request& request) const;
  /// The elements as `request.type`. Throws: FormatError, UnsupportedError.
  std::vector<char> read(const Hdf5Request& request) const;

 private:
  Handle file_;
};

/// An object behind hard links only; its identifier is invalid if a component
/// of the path is absent. Throws: FormatError naming the component.
Handle find_object(hid_t file, const std::string& path);
/// Throws: FormatError, also if it is absent.
Handle open_object(hid_t file, const std::string& path);

/// "'/a/b'", printable: how messages name a path.
std::string path_text(std::string_view path);

// One per kind of request.
Config attribute_value(hid_t object, const std::string& owner,
                       const std::string& name);
Config string_list(hid_t object, const std::string& owner,
                   const std::string& name);
Config dataset_shape(hid_t dataset, const std::string& path);
std::vector<char> dataset_elements(hid_t dataset, const Hdf5Request& request);

}  // namespace octet::io
