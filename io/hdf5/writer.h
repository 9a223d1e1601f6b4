// Builds an HDF5 file in memory, as h5py would and Keras reads it; the bytes
// go to the disk by write_file(). The same calls give the same bytes. A writer
// belongs to one thread at a time. Internal to io.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Objects are named by their paths from the root, which is "" or "/". All
/// functions throw ValueError for what cannot be written: a name that is
/// empty, "." or "..", one that comes twice, bytes of 0 in names and strings.
class Hdf5Writer {
 public:
  Hdf5Writer();
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// Makes the group, with its parents, if it is not there.
  void group(const std::string& path);
  /// A string, integer, number or bool, or a list of one kind of these; an
  /// empty list is an array of no float64. A list of more than 64512 bytes, at
  /// 16 a string, is split into `name`0, `name`1, ... of equal length, as Keras
  /// does. REQUIRES: `object` is there.
  void attribute(const std::string& object, const std::string& name,
                 const Config& value);
  /// Makes the parents. Elements of f32, i64, i32, i8 or u8.
  void dataset(const std::string& path, const Tensor& values);
  /// The bytes of the file. REQUIRES: nothing is called after it.
  std::string finish();

 private:
  struct File;
  std::unique_ptr<File> file_;
};

}  // namespace octet::io
