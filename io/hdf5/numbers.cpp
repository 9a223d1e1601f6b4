#include "numbers.h"

#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "elements.h"
#include "library.h"

namespace octet::io {
namespace {

using Kind = NumberFormat::Kind;

struct FloatLayout {
  Kind kind;
  size_t bytes;
  size_t exponent_bits;
  size_t fraction_bits;
  const char* name;
};

// Source: IEEE 754-2019, 3.6; bfloat16 is the upper half of float32.
constexpr std::array kFloatLayouts = {
    FloatLayout{Kind::half, 2, 5, 10, "float16"},
    FloatLayout{Kind::bfloat, 2, 8, 7, "bfloat16"},
    FloatLayout{Kind::single, 4, 8, 23, "float32"},
    FloatLayout{Kind::real, 8, 11, 52, "float64"}};

/// Whether the type has no padding bits; sets its byte order.
bool plain_bits(hid_t type, size_t bytes, bool& swapped) {
  const H5T_order_t order = H5Tget_order(type);
  swapped = order == H5T_ORDER_BE;
  return (order == H5T_ORDER_LE || order == H5T_ORDER_BE) &&
         H5Tget_offset(type) == 0 && H5Tget_precision(type) == 8 * bytes;
}

std::optional<NumberFormat> float_format(hid_t type) {
  const size_t bytes = H5Tget_size(type);
  bool swapped = false;
  if (!plain_bits(type, bytes, swapped)) return std::nullopt;
  size_t sign = 0, exponent = 0, exponent_bits = 0, fraction = 0,
         fraction_bits = 0;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction,
                    &fraction_bits) < 0 ||
      sign != 8 * bytes - 1 || exponent != fraction_bits || fraction != 0 ||
      H5Tget_norm(type) != H5T_NORM_IMPLIED) {
    return std::nullopt;
  }
  for (const FloatLayout& layout : kFloatLayouts) {
    if (layout.bytes == bytes && layout.exponent_bits == exponent_bits &&
        layout.fraction_bits == fraction_bits &&
        H5Tget_ebias(type) == (size_t{1} << (exponent_bits - 1)) - 1) {
      return NumberFormat{layout.kind, bytes, swapped};
    }
  }
  return std::nullopt;
}

std::optional<NumberFormat> integer_format(hid_t type) {
  const size_t bytes = H5Tget_size(type);
  bool swapped = false;
  if (bytes > 8 || !std::has_single_bit(bytes) ||
      !plain_bits(type, bytes, swapped)) {
    return std::nullopt;
  }
  switch (H5Tget_sign(type)) {
    case H5T_SGN_2:
      return NumberFormat{Kind::integer, bytes, swapped};
    case H5T_SGN_NONE:
      return NumberFormat{Kind::natural, bytes, swapped};
    default:
      return std::nullopt;
  }
}

// h5py writes bool as an enumeration of FALSE = 0 and TRUE = 1.
std::optional<NumberFormat> bool_format(hid_t type) {
  if (H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return {};
  signed char no = -1, yes = -1;
  if (H5Tenum_valueof(type, "FALSE", &no) < 0 ||
      H5Tenum_valueof(type, "TRUE", &yes) < 0 || no != 0 || yes != 1) {
    H5Eclear2(H5E_DEFAULT);
    return {};
  }
  return NumberFormat{Kind::boolean, 1, false};
}

float bfloat_to_float(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

}  // namespace

std::optional<NumberFormat> number_format(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return float_format(type);
    case H5T_INTEGER:
      return integer_format(type);
    case H5T_ENUM:
      return bool_format(type);
    default:
      return std::nullopt;
  }
}

std::string type_text(hid_t type) {
  if (const auto format = number_format(type)) {
    const char* order = format->swapped ? "big-endian " : "";
    switch (format->kind) {
      case Kind::integer:
        return fmt::format("{}int{}", order, 8 * format->bytes);
      case Kind::natural:
        return fmt::format("{}uint{}", order, 8 * format->bytes);
      case Kind::boolean:
        return "bool";
      default:
        for (const FloatLayout& layout : kFloatLayouts) {
          if (layout.kind == format->kind) {
            return fmt::format("{}{}", order, layout.name);
          }
        }
    }
  }
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return "a float of an unusual format";
    case H5T_INTEGER:
      return "an integer of an unusual format";
    case H5T_STRING:
      return "strings";
    case H5T_COMPOUND:
      return "a compound type";
    case H5T_OPAQUE:
      return "an opaque type";
    case H5T_REFERENCE:
      return "references";
    case H5T_ENUM:
      return "an enumeration";
    case H5T_VLEN:
      return "sequences of variable length";
    case H5T_ARRAY:
      return "an array type";
    default:
      return "an unknown type";
  }
}

double float_at(const char* data, size_t index, const NumberFormat& format) {
  const char* from = data + index * format.bytes;
  switch (format.kind) {
    case Kind::half:
      return half_to_float(element<uint16_t>(from, format.swapped));
    case Kind::bfloat:
      return bfloat_to_float(element<uint16_t>(from, format.swapped));
    case Kind::single:
      return element<float>(from, format.swapped);
    default:
      return element<double>(from, format.swapped);
  }
}

std::optional<int64_t> integer_at(const char* data, size_t index,
                                  const NumberFormat& format) {
  const char* from = data + index * format.bytes;
  const bool is_signed = format.kind == Kind::integer;
  const auto as = [&]<class Signed, class Unsigned>(Signed, Unsigned) {
    return is_signed
               ? int64_t{element<Signed>(from, format.swapped)}
               : static_cast<int64_t>(element<Unsigned>(from, format.swapped));
  };
  switch (format.bytes) {
    case 1:
      return as(int8_t{}, uint8_t{});
    case 2:
      return as(int16_t{}, uint16_t{});
    case 4:
      return as(int32_t{}, uint32_t{});
    default: {
      const int64_t value = as(int64_t{}, uint64_t{});
      if (!is_signed && value < 0) return std::nullopt;
      return value;
    }
  }
}

void to_floats(const char* data, const NumberFormat& format,
               std::span<float> out) {
  if (format.kind == Kind::single && !format.swapped) {
    std::memcpy(out.data(), data, out.size_bytes());
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<float>(float_at(data, i, format));
  }
}

}  // namespace octet::io
