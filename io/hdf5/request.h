// What can be requested of an HDF5 file, in this process or through a worker.
// Both ways end in Hdf5File. Internal to io/hdf5.
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
  DType type = DType::f32;  ///< wanted: f32 or i64
  Shape expected = {};      ///< of the dataset
};

class Hdf5Backend {
 public:
  virtual ~Hdf5Backend() = default;

  /// All but read: kind is whether it is a dataset, the names of children and
  /// strings are lists, a shape is a list of integers; what is absent is null.
  virtual Config respond(const Hdf5Request& request) = 0;
  /// A tensor of `request.type` and shape `request.expected`.
  virtual Tensor read(const Hdf5Request& request) = 0;
};

/// Most bytes of a dataset, of an attribute, most names in a group.
constexpr int64_t kMostDatasetBytes = int64_t{1} << 31;
constexpr int64_t kMostAttributeBytes = int64_t{1} << 26;
constexpr int64_t kMostNames = int64_t{1} << 17;

}  // namespace octet::io
