#include "tensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "elements.h"

namespace octet::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "ONNX raw data is little-endian");

constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();

// Storage of the elements of a type.
struct Storage {
  int64_t bytes;   // of an element in raw_data; 0: never raw
  int64_t values;  // entries of the typed field per element
  int (*entries)(const onnx::TensorProto&);
};

int floats(const onnx::TensorProto& t) { return t.float_data_size(); }
int doubles(const onnx::TensorProto& t) { return t.double_data_size(); }
int int32s(const onnx::TensorProto& t) { return t.int32_data_size(); }
int int64s(const onnx::TensorProto& t) { return t.int64_data_size(); }
int uint64s(const onnx::TensorProto& t) { return t.uint64_data_size(); }
int strings(const onnx::TensorProto& t) { return t.string_data_size(); }

Storage storage_of(int32_t data_type) {
  using T = onnx::TensorProto;
  switch (data_type) {
    case T::FLOAT:
      return {4, 1, floats};
    case T::COMPLEX64:
      return {8, 2, floats};
    case T::DOUBLE:
      return {8, 1, doubles};
    case T::COMPLEX128:
      return {16, 2, doubles};
    case T::INT8:
    case T::UINT8:
    case T::BOOL:
      return {1, 1, int32s};
    case T::INT16:
    case T::UINT16:
    case T::FLOAT16:
    case T::BFLOAT16:
      return {2, 1, int32s};
    case T::INT32:
      return {4, 1, int32s};
    case T::INT64:
      return {8, 1, int64s};
    case T::UINT32:
      return {4, 1, uint64s};
    case T::UINT64:
      return {8, 1, uint64s};
    case T::STRING:
      return {0, 1, strings};
    default:
      return {0, 0, nullptr};
  }
}

// Storage and number of elements of a tensor.
struct Size {
  Storage storage;
  int64_t count = 1;
};

Size size_of(const onnx::TensorProto& tensor, const std::string& what) {
  check_type_number(tensor.data_type(), what);
  const Storage storage = storage_of(tensor.data_type());
  if (storage.entries == nullptr) {
    throw FormatError("invalid_graph", what,
                      fmt::format("element type must be one of ONNX, got {}",
                                  type_name(tensor.data_type())));
  }
  const int64_t most = kMostBytes / std::max<int64_t>(storage.bytes, 1);
  int64_t room = most;
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0) {
      throw FormatError("invalid_graph", what,
                        fmt::format("dimensions must be >= 0, got {}", dim));
    }
    room = dim > 1 ? room / dim : room;
    if (room == 0) {
      throw FormatError(
          "size_limit", what,
          fmt::format("must have at most {} elements, got dimensions {}", most,
                      dims_text(tensor)));
    }
    count *= dim;
  }
  return {storage, count};
}

}  // namespace

std::string type_name(int32_t data_type) {
  // In the order of onnx::TensorProto::DataType.
  static constexpr const char* kNames[] = {
      "undefined",      "float32",    "uint8",
      "int8",           "uint16",     "int16",
      "int32",          "int64",      "string",
      "bool",           "float16",    "float64",
      "uint32",         "uint64",     "complex64",
      "complex128",     "bfloat16",   "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
      "uint4",          "int4",       "float4e2m1",
      "float8e8m0",     "uint2",      "int2"};
  if (data_type >= 0 && data_type < static_cast<int>(std::size(kNames))) {
    return kNames[data_type];
  }
  return fmt::format("type {}", data_type);
}

void check_type_number(int64_t data_type, const std::string& what) {
  constexpr int64_t kFirstNewer = 17, kLastNewer = 26;  // float8e4m3fn, int2
  if (data_type < kFirstNewer || data_type > kLastNewer) return;
  throw UnsupportedError(
      "unsupported_type", what,
      fmt::format("element types below 8 bits and float8 are not supported, "
                  "got {}",
                  type_name(static_cast<int32_t>(data_type))));
}

std::string dims_text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (const int64_t dim : dims) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dim);
  }
  return text + "]";
}

std::string dims_text(const onnx::TensorProto& tensor) {
  return dims_text(
      std::span(tensor.dims().data(), static_cast<size_t>(tensor.dims_size())));
}

OnnxShape shape_of(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return {};
  std::vector<OnnxDim> dims;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    if (dim.has_dim_value()) {
      dims.emplace_back(dim.dim_value());
    } else {
      dims.emplace_back(dim.dim_param().empty()
                            ? std::string("?")
                            : printable(dim.dim_param(), 40));
    }
  }
  return dims;
}

OnnxShape shape_of(const onnx::TensorProto& tensor) {
  return std::vector<OnnxDim>(tensor.dims().begin(), tensor.dims().end());
}

int64_t raw_bytes(const onnx::TensorProto& tensor, const std::string& what) {
  const Size size = size_of(tensor, what);
  if (size.storage.bytes == 0) {
    throw FormatError("invalid_graph", what,
                      "must contain numbers, got strings");
  }
  return size.count * size.storage.bytes;
}

namespace {

/// Values of small types are stored as int32 and may exceed their type.
void check_small_values(const onnx::TensorProto& tensor,
                        const std::string& what) {
  using T = onnx::TensorProto;
  int32_t low = 0, high = 0;
  switch (tensor.data_type()) {
    case T::INT8:
      low = -128, high = 127;
      break;
    case T::UINT8:
      high = 255;
      break;
    case T::INT16:
      low = -32768, high = 32767;
      break;
    case T::UINT16:
    case T::FLOAT16:  // bits
    case T::BFLOAT16:
      high = 65535;
      break;
    default:
      return;
  }
  for (const int32_t value : tensor.int32_data()) {
    if (value >= low && value <= high) continue;
    throw FormatError(
        "invalid_graph", what,
        fmt::format("values of {} must be from {} to {}, got {}",
                    type_name(tensor.data_type()), low, high, value));
  }
}

}  // namespace

void check_tensor(const onnx::TensorProto& tensor, const std::string& what) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL ||
      tensor.external_data_size() > 0) {
    throw FormatError("invalid_graph", what,
                      "data must be in the model file, got external data. "
                      "Hint: load the model by its path, or save it without "
                      "external data");
  }
  const auto [storage, count] = size_of(tensor, what);
  const int64_t raw = static_cast<int64_t>(tensor.raw_data().size());
  const int64_t entries = storage.entries(tensor);
  if (raw > 0 && storage.bytes == 0) {
    throw FormatError("invalid_graph", what,
                      "must contain strings, got raw bytes");
  }
  // has_raw_data() decides, even if the data is empty.
  if (tensor.has_raw_data()) {
    if (entries > 0 || raw != count * storage.bytes) {
      throw FormatError(
          "invalid_graph", what,
          fmt::format("must have {} bytes for {} {}, got {} bytes and {} "
                      "values",
                      count * storage.bytes, type_name(tensor.data_type()),
                      dims_text(tensor), raw, entries));
    }
  } else if (entries != count * storage.values) {
    throw FormatError(
        "invalid_graph", what,
        fmt::format("must have {} values for {} {}, got {}",
                    count * storage.values, type_name(tensor.data_type()),
                    dims_text(tensor), entries));
  }
  check_small_values(tensor, what);
}

int64_t element_count(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) count *= dim;
  return count;
}

bool is_float(const onnx::TensorProto& tensor) {
  using T = onnx::TensorProto;
  return tensor.data_type() == T::FLOAT || tensor.data_type() == T::FLOAT16 ||
         tensor.data_type() == T::BFLOAT16;
}

std::vector<float> float_values(const onnx::TensorProto& tensor) {
  const bool single = tensor.data_type() == onnx::TensorProto::FLOAT;
  const bool half = tensor.data_type() == onnx::TensorProto::FLOAT16;
  if (single && !tensor.has_raw_data()) {
    return {tensor.float_data().begin(), tensor.float_data().end()};
  }
  std::vector<float> values(static_cast<size_t>(element_count(tensor)));
  if (values.empty()) return values;
  if (single) {
    std::memcpy(values.data(), tensor.raw_data().data(),
                values.size() * sizeof(float));
    return values;
  }
  // Two bytes each, in raw_data or in the lower half of int32_data.
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits =
        tensor.has_raw_data()
            ? element<uint16_t>(tensor.raw_data().data() + 2 * i, false)
            : static_cast<uint16_t>(tensor.int32_data(static_cast<int>(i)));
    values[i] =
        half ? half_to_float(bits) : std::bit_cast<float>(uint32_t{bits} << 16);
  }
  return values;
}

onnx::TensorProto as_float32(const onnx::TensorProto& tensor) {
  onnx::TensorProto result;
  result.set_name(tensor.name());
  result.set_data_type(onnx::TensorProto::FLOAT);
  *result.mutable_dims() = tensor.dims();
  const int64_t count = element_count(tensor);
  for (int64_t i = 0; i < count; ++i) {
    double value = 0;
    if (tensor.has_raw_data()) {
      std::memcpy(&value, tensor.raw_data().data() + 8 * i, sizeof(value));
    } else {
      value = tensor.double_data(static_cast<int>(i));
    }
    result.add_float_data(static_cast<float>(value));
  }
  return result;
}

}  // namespace octet::io
