// An HDF5 file in memory, with checks that accept plain data only. All reads of
// a file pass through here, in the worker process or, without isolation, in
// this one. It uses no state of the program (tensors, threads), so it works
// after fork(). Internal to io/hdf5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "library.h"
#include "request.h"

namespace octet::io {

/// REQUIRES: a LibraryLock, or silence_library() in a separate process, for all
/// calls including construction and destruction.
class Hdf5File {
 public:
  /// `image` must outlive the file. Throws: FormatError.
  explicit Hdf5File(std::string_view image);

  /// See Hdf5Backend::respond(). Throws: FormatError.
  Config respond(const Hdf5Request& request) const;
  /// Returns the elements as `request.type`.
  /// Throws: FormatError, UnsupportedError.
  std::vector<char> read(const Hdf5Request& request) const;

 private:
  Handle file_;
};

/// Opens an object through hard links; its identifier is invalid if a component
/// of the path does not exist.
/// Throws: FormatError naming the component.
Handle find_object(hid_t file, const std::string& path);
/// Opens an object. Throws: FormatError, also if it does not exist.
Handle open_object(hid_t file, const std::string& path);

/// "'/a/b'", printable, for messages.
std::string path_text(std::string_view path);

// Handlers, one per kind of request.
Config attribute_value(hid_t object, const std::string& owner,
                       const std::string& name);
Config string_list(hid_t object, const std::string& owner,
                   const std::string& name);
Config dataset_shape(hid_t dataset, const std::string& path);
std::vector<char> dataset_elements(hid_t dataset, const Hdf5Request& request);

}  // namespace octet::io
