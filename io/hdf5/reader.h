// Checked access to named objects of one HDF5 file. libhdf5 runs in a worker
// process that responds to requests over a socket: a crash, a hang or a runaway
// allocation there is a FormatError here. A reader belongs to one thread at a
// time; several readers may live in several threads. Internal to io.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/file_limits.h>
#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Tests let the worker misbehave here, before it responds about `path`.
using Hdf5Hook = void (*)(std::string_view path);

enum class Hdf5Kind { absent, group, dataset };

/// Whether the contents of a file start like HDF5: with its signature at
/// offset 0, 512, 1024, 2048, ...
bool is_hdf5(std::string_view contents);

class Hdf5Backend;

/// Objects are named by their paths from the root, which is "" or "/". All
/// functions throw FormatError that names file, object and reason, and
/// UnsupportedError for a filter (compression) that is not available.
class Hdf5Reader {
 public:
  /// `contents` is a whole file, `name` what messages call it. The memory is
  /// the worker's, the time that for all that is requested of the file.
  /// Throws: FormatError (not HDF5, or broken), ValueError (limits), IoError
  /// (no process can be started).
  Hdf5Reader(std::string contents, std::string name,
             const FileLimits& limits = {}, Hdf5Hook before_response = nullptr);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;
  Hdf5Reader& operator=(Hdf5Reader&&) noexcept;

  /// Every component of the path must be a hard link.
  Hdf5Kind kind(const std::string& path) const;
  /// The names in a group, sorted.
  std::vector<std::string> children(const std::string& group) const;
  /// A string of fixed or variable length, an integer, a number or a bool; a
  /// one-dimensional array of these is a list. Nothing if it is absent.
  std::optional<Config> attribute(const std::string& object,
                                  const std::string& name) const;
  /// A list of strings, whole or split into `name`0, `name`1, ...; an array of
  /// no elements of any type is an empty list. Nothing if it is absent.
  std::optional<std::vector<std::string>> strings(
      const std::string& object, const std::string& name) const;
  Shape shape(const std::string& dataset) const;
  /// Elements of float16, float32, float64 or bfloat16, in either byte order,
  /// however they are stored. The shape is compared before memory is taken.
  Tensor f32(const std::string& dataset, const Shape& expected) const;
  /// Elements of integers of 1 to 8 bytes, in either byte order.
  Tensor i64(const std::string& dataset, const Shape& expected) const;

 private:
  template <class Body>
  auto in_file(Body body) const;
  Tensor read(const std::string& dataset, const Shape& expected,
              DType type) const;

  std::string name_;
  std::unique_ptr<Hdf5Backend> backend_;
};

}  // namespace octet::io
