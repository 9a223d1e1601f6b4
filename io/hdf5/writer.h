// Builds an HDF5 file in memory, as h5py does and Keras expects; write_file()
// stores it. Equal calls give equal bytes. Not thread-safe. Internal to io.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Objects are named by their path from the root, which is "" or "/". All
/// functions throw ValueError for names that are empty, ".", ".." or duplicate,
/// and for NUL in names and strings.
class Hdf5Writer {
 public:
  Hdf5Writer();
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// Creates a group with its parents unless it exists.
  void group(const std::string& path);
  /// Adds a string, integer, number, bool or list of one of these types; an
  /// empty list is an array of zero float64. A list of more than 64512 bytes,
  /// with 16 bytes per string, is split into `name`0, `name`1, ... of equal
  /// length, as in Keras. REQUIRES: `object` exists.
  void attribute(const std::string& object, const std::string& name,
                 const Config& value);
  /// Adds a dataset of f32, i64, i32, i8 or u8 and creates its parents.
  void dataset(const std::string& path, const Tensor& values);
  /// Returns the bytes of the file. REQUIRES: the last call.
  std::string finish();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace octet::io
