#include "constants.h"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "onnx/graph/opsets.h"
#include "onnx/graph/tensors.h"

namespace octet::io::run {
namespace {

using T = onnx::TensorProto;

struct Type {
  int32_t onnx;
  DType octet;
};
constexpr Type kTypes[] = {
    {T::FLOAT, DType::f32},      {T::INT8, DType::i8},
    {T::UINT8, DType::u8},       {T::INT32, DType::i32},
    {T::INT64, DType::i64},      {T::BOOL, DType::boolean},
    {T::FLOAT16, DType::f32},    {T::BFLOAT16, DType::f32},
    {kFloat8E4M3FN, DType::f32},
};

template <class To, class Field>
void copy_field(Tensor& to, const Field& field) {
  auto value = field.begin();
  for (To& element : to.data<To>()) element = static_cast<To>(*value++);
}

void copy_raw(Tensor& to, const std::string& bytes) {
  if (bytes.empty()) return;
  if (to.dtype() == DType::boolean) {
    // Any byte but 0 is true; a C++ bool must be 0 or 1.
    copy_field<bool>(to, bytes);
    return;
  }
  std::memcpy(to.raw(), bytes.data(), bytes.size());
}

}  // namespace

std::optional<DType> dtype_of(int32_t data_type) {
  for (const Type& type : kTypes) {
    if (type.onnx == data_type) return type.octet;
  }
  return std::nullopt;
}

int32_t onnx_type_of(DType type) {
  for (const Type& t : kTypes) {
    if (t.octet == type) return t.onnx;
  }
  throw InternalError("internal", "onnx_type_of", "unknown element type");
}

std::string type_name(DType type) { return io::type_name(onnx_type_of(type)); }

Tensor constant(const onnx::TensorProto& from) {
  if (from.dims_size() > Shape::kMaxRank) {
    throw UnsupportedError(
        "invalid_shape", fmt::format("tensor '{}'", printable(from.name())),
        fmt::format("must have at most {} dimensions, got {}",
                    static_cast<int>(Shape::kMaxRank), dims_text(from)));
  }
  const Shape shape(
      std::span(from.dims().data(), static_cast<size_t>(from.dims_size())));
  Tensor to(shape, dtype_of(from.data_type()).value());
  if (to.dtype() == DType::f32) {
    std::ranges::copy(float_values(from), to.f32().begin());
    return to;
  }
  if (from.has_raw_data()) {
    copy_raw(to, from.raw_data());
    return to;
  }
  switch (to.dtype()) {
    case DType::f32:  // above
      break;
    case DType::i8:
      copy_field<int8_t>(to, from.int32_data());
      break;
    case DType::u8:
      copy_field<uint8_t>(to, from.int32_data());
      break;
    case DType::i16:
      copy_field<int16_t>(to, from.int32_data());
      break;
    case DType::i32:
      copy_field<int32_t>(to, from.int32_data());
      break;
    case DType::i64:
      copy_field<int64_t>(to, from.int64_data());
      break;
    case DType::boolean:
      copy_field<bool>(to, from.int32_data());
      break;
  }
  return to;
}

bool has_constant(const onnx::NodeProto& node) {
  return node.attribute_size() == 1 && node.attribute(0).name() == "value" &&
         dtype_of(node.attribute(0).t().data_type());
}

Tensor constant(const onnx::NodeProto& node) {
  return constant(node.attribute(0).t());
}

}  // namespace octet::io::run
