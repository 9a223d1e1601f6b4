#include "tensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/quantization.h>

#include "elements.h"
#include "onnx/graph/opsets.h"

namespace octet::io {
namespace {

static_assert(std::endian::native == std::endian::little,
              "ONNX raw data is little-endian");

constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();

using T = onnx::TensorProto;

int floats(const T& t) { return t.float_data_size(); }
int doubles(const T& t) { return t.double_data_size(); }
int int32s(const T& t) { return t.int32_data_size(); }
int int64s(const T& t) { return t.int64_data_size(); }
int uint64s(const T& t) { return t.uint64_data_size(); }
int strings(const T& t) { return t.string_data_size(); }

struct ElementType {
  const char* name;
  int64_t bytes = 0;   // of an element in raw_data; 0: never raw
  int64_t values = 0;  // entries of the typed field per element
  int (*entries)(const T&) = nullptr;  // null: not supported
  // Range of the values in the typed field, if it is narrower than the field.
  int32_t low = 0, high = 0;
};

// In the order of onnx::TensorProto::DataType.
constexpr ElementType kTypes[] = {
    {"undefined"},
    {"float32", 4, 1, floats},
    {"uint8", 1, 1, int32s, 0, 255},
    {"int8", 1, 1, int32s, -128, 127},
    {"uint16", 2, 1, int32s, 0, 65535},
    {"int16", 2, 1, int32s, -32768, 32767},
    {"int32", 4, 1, int32s},
    {"int64", 8, 1, int64s},
    {"string", 0, 1, strings},
    {"bool", 1, 1, int32s},
    {"float16", 2, 1, int32s, 0, 65535},  // bits
    {"float64", 8, 1, doubles},
    {"uint32", 4, 1, uint64s},
    {"uint64", 8, 1, uint64s},
    {"complex64", 8, 2, floats},
    {"complex128", 16, 2, doubles},
    {"bfloat16", 2, 1, int32s, 0, 65535},
    {"float8e4m3fn", 1, 1, int32s, 0, 255},  // bits
    {"float8e4m3fnuz"},
    {"float8e5m2"},
    {"float8e5m2fnuz"},
    {"uint4"},
    {"int4"},
    {"float4e2m1"},
    {"float8e8m0"},
    {"uint2"},
    {"int2"},
};

const ElementType& element_type_of(int32_t data_type) {
  return kTypes[data_type >= 0 && data_type < std::ssize(kTypes) ? data_type
                                                                 : 0];
}

// Storage and number of elements of a tensor.
struct Size {
  ElementType storage;
  int64_t count = 1;
};

Size size_of(const onnx::TensorProto& tensor, const std::string& subject) {
  check_type_number(tensor.data_type(), subject);
  const ElementType& storage = element_type_of(tensor.data_type());
  if (storage.entries == nullptr) {
    throw FormatError("invalid_graph", subject,
                      fmt::format("element type must be one of ONNX, got {}",
                                  type_name(tensor.data_type())));
  }
  const int64_t most = kMostBytes / std::max<int64_t>(storage.bytes, 1);
  int64_t room = most;
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0) {
      throw FormatError("invalid_graph", subject,
                        fmt::format("dimensions must be >= 0, got {}", dim));
    }
    room = dim > 1 ? room / dim : room;
    if (room == 0) {
      throw FormatError(
          "size_limit", subject,
          fmt::format("must have at most {} elements, got dimensions {}", most,
                      dims_text(tensor)));
    }
    count *= dim;
  }
  return {storage, count};
}

}  // namespace

std::string type_name(int32_t data_type) {
  if (data_type >= 0 && data_type < std::ssize(kTypes)) {
    return kTypes[data_type].name;
  }
  return fmt::format("type {}", data_type);
}

void check_type_number(int64_t data_type, const std::string& subject) {
  constexpr int64_t kFirstNewer = 18, kLastNewer = 26;  // float8e4m3fnuz, int2
  if (data_type < kFirstNewer || data_type > kLastNewer) return;
  throw UnsupportedError(
      "unsupported_type", subject,
      fmt::format("element types below 8 bits and float8 other than "
                  "float8e4m3fn are not supported, got {}",
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

int64_t raw_bytes(const onnx::TensorProto& tensor, const std::string& subject) {
  const Size size = size_of(tensor, subject);
  if (size.storage.bytes == 0) {
    throw FormatError("invalid_graph", subject,
                      "must contain numbers, got strings");
  }
  return size.count * size.storage.bytes;
}

namespace {

/// Values of small types are stored as int32 and may exceed their type.
void check_small_values(const onnx::TensorProto& tensor,
                        const std::string& subject) {
  const ElementType& type = element_type_of(tensor.data_type());
  const auto low = type.low, high = type.high;
  if (high == 0) return;
  for (const int32_t value : tensor.int32_data()) {
    if (value >= low && value <= high) continue;
    throw FormatError(
        "invalid_graph", subject,
        fmt::format("values of {} must be from {} to {}, got {}",
                    type_name(tensor.data_type()), low, high, value));
  }
}

}  // namespace

void check_tensor(const onnx::TensorProto& tensor, const std::string& subject) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL ||
      tensor.external_data_size() > 0) {
    throw FormatError("invalid_graph", subject,
                      "data must be in the model file, got external data. "
                      "Hint: load the model by its path, or save it without "
                      "external data");
  }
  const auto [storage, count] = size_of(tensor, subject);
  const int64_t raw = static_cast<int64_t>(tensor.raw_data().size());
  const int64_t entries = storage.entries(tensor);
  if (raw > 0 && storage.bytes == 0) {
    throw FormatError("invalid_graph", subject,
                      "must contain strings, got raw bytes");
  }
  // has_raw_data() decides, even if the data is empty.
  if (tensor.has_raw_data()) {
    if (entries > 0 || raw != count * storage.bytes) {
      throw FormatError(
          "invalid_graph", subject,
          fmt::format("must have {} bytes for {} {}, got {} bytes and {} "
                      "values",
                      count * storage.bytes, type_name(tensor.data_type()),
                      dims_text(tensor), raw, entries));
    }
  } else if (entries != count * storage.values) {
    throw FormatError(
        "invalid_graph", subject,
        fmt::format("must have {} values for {} {}, got {}",
                    count * storage.values, type_name(tensor.data_type()),
                    dims_text(tensor), entries));
  }
  check_small_values(tensor, subject);
}

int64_t element_count(const onnx::TensorProto& tensor) {
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) count *= dim;
  return count;
}

bool is_float(const onnx::TensorProto& tensor) {
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
  if (tensor.data_type() == kFloat8E4M3FN) {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto bits =
          tensor.has_raw_data()
              ? static_cast<uint8_t>(tensor.raw_data()[i])
              : static_cast<uint8_t>(tensor.int32_data(static_cast<int>(i)));
      values[i] = decode_float(bits, NumberFormat::fp8_e4m3);
    }
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
