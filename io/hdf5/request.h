// Requests to an HDF5 file, served by Hdf5File in this process or in a worker.
// Internal to io/hdf5.
#pragma once

#include <string>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

struct Hdf5Request {
  enum class Op : uint8_t { kind, children, attribute, strings, shape, read };

  Op op = Op::kind;
  std::string path;
  std::string name = {};    ///< of an attribute
  DType type = DType::f32;  ///< of the result: f32 or i64
  Shape expected = {};      ///< of the dataset
};

class Hdf5Backend {
 public:
  virtual ~Hdf5Backend() = default;

  /// Serves all requests but read. The result of kind is whether the object is
  /// a dataset; of children and strings, a list of names; of shape, a list of
  /// integers; null if the object does not exist.
  virtual Config respond(const Hdf5Request& request) = 0;
  /// Returns a tensor of `request.type` and shape `request.expected`.
  virtual Tensor read(const Hdf5Request& request) = 0;
};

/// Limits: bytes of a dataset, bytes of an attribute, names in a group.
constexpr int64_t kMostDatasetBytes = int64_t{1} << 31;
constexpr int64_t kMostAttributeBytes = int64_t{1} << 26;
constexpr int64_t kMostNames = int64_t{1} << 17;

}  // namespace octet::io
