// Hdf5Reader: validated access to objects of an HDF5 file by name. Unless
// FileLimits.isolation is none, libhdf5 runs in a worker process that responds
// over a socket: a crash, hang or excessive allocation there becomes a
// FormatError. A reader must not be used by several threads at once; different
// readers may be. Internal to io.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Test hook: runs in the worker process before it responds to a request for
/// the object `path`.
using Hdf5Hook = void (*)(std::string_view path);

enum class Hdf5Kind { absent, group, dataset };

/// Whether the contents start like HDF5: with its signature at offset 0, 512,
/// 1024, 2048, ...
bool is_hdf5(std::string_view contents);

class Hdf5Backend;

/// Objects are named by their path from the root, which is "" or "/". All
/// functions throw FormatError naming file, object and reason, and
/// UnsupportedError for an unavailable filter (compression).
class Hdf5Reader {
 public:
  /// `contents` are the bytes of the whole file, `name` is its name in
  /// messages. The memory limit applies to the worker process, the time limit
  /// to the total time of opening and of all requests; neither applies without
  /// isolation.
  /// Throws: FormatError (not HDF5, or damaged), ValueError (limits), IoError
  /// (cannot start a process).
  Hdf5Reader(std::string contents, std::string name,
             const FileLimits& limits = {}, Hdf5Hook before_response = nullptr);
  ~Hdf5Reader();
  Hdf5Reader(Hdf5Reader&&) noexcept;
  Hdf5Reader& operator=(Hdf5Reader&&) noexcept;

  /// Returns the kind of an object. Throws: FormatError also if a component of
  /// the path is a soft or external link.
  Hdf5Kind kind(const std::string& path) const;
  /// Returns the names in a group, sorted.
  std::vector<std::string> children(const std::string& group) const;
  /// Returns an attribute: a string (of fixed or variable length in the file),
  /// integer, number or bool, or a list of these for a one-dimensional array;
  /// nullopt if it does not exist.
  std::optional<Config> attribute(const std::string& object,
                                  const std::string& name) const;
  /// Returns a list of strings, stored in the attribute `name` or split into
  /// the attributes `name`0, `name`1, ...; an empty array of any type is an
  /// empty list. Returns nullopt if neither exists.
  std::optional<std::vector<std::string>> strings(
      const std::string& object, const std::string& name) const;
  Shape shape(const std::string& dataset) const;
  /// Reads float16, float32, float64 or bfloat16 of either byte order.
  /// Throws: FormatError for a shape other than `expected`, before allocation.
  Tensor f32(const std::string& dataset, const Shape& expected) const;
  /// Like f32(), for integers of 1 to 8 bytes.
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
