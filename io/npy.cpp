#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/io/npy.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "elements.h"
#include "file_kind.h"
#include "npy_header.h"

namespace octet::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::string_view kNpyFile = "a NumPy array (.npy)";
constexpr int64_t kMostElements = int64_t{1} << 31;
/// As NumPy pads: the data starts at a multiple of this.
constexpr size_t kAlignment = 64;

template <class From, class To, class Convert>
void convert_to(std::string_view data, bool swapped, Tensor& tensor,
                Convert convert) {
  const char* from = data.data();
  for (To& to : tensor.data<To>()) {
    to = convert(element<From>(from, swapped));
    from += sizeof(From);
  }
}

template <class T>
void copy_to(std::string_view data, bool swapped, Tensor& tensor) {
  convert_to<T, T>(data, swapped, tensor, [](T x) { return x; });
}

/// NumPy reads any byte but 0 as true.
void fill_booleans(std::string_view data, Tensor& tensor) {
  convert_to<uint8_t, bool>(data, false, tensor,
                            [](uint8_t x) { return x != 0; });
}

Tensor elements(std::string_view data, const NpyHeader& header,
                const Shape& shape) {
  Tensor tensor(shape, header.type.stored);
  const bool swapped = header.type.big_endian;
  switch (header.type.kind) {
    case NpyKind::f2:
      convert_to<uint16_t, float>(data, swapped, tensor, half_to_float);
      break;
    case NpyKind::f4:
      copy_to<float>(data, swapped, tensor);
      break;
    case NpyKind::f8:
      convert_to<double, float>(data, swapped, tensor,
                                [](double x) { return static_cast<float>(x); });
      break;
    case NpyKind::i1:
      copy_to<int8_t>(data, false, tensor);
      break;
    case NpyKind::u1:
      copy_to<uint8_t>(data, false, tensor);
      break;
    case NpyKind::i4:
      copy_to<int32_t>(data, swapped, tensor);
      break;
    case NpyKind::i8:
      copy_to<int64_t>(data, swapped, tensor);
      break;
    case NpyKind::b1:
      fill_booleans(data, tensor);
      break;
  }
  return tensor;
}

Shape checked_shape(const std::vector<int64_t>& dims) {
  if (dims.size() > Shape::kMaxRank) {
    throw FormatError(
        fmt::format("NPY shape: expected at most {} dimensions, got {}",
                    Shape::kMaxRank, dims.size()));
  }
  int64_t limit = kMostElements;
  for (const int64_t dim : dims) {
    limit /= std::max<int64_t>(dim, 1);
    if (limit == 0) {
      throw FormatError(
          fmt::format("NPY shape: expected at most 2^31 elements, got more: {}",
                      Shape(std::span<const int64_t>(dims)).to_string()));
    }
  }
  return Shape(std::span<const int64_t>(dims));
}

/// Shapes: the file's data in Fortran order is the C order of the reversed
/// shape.
Tensor from_fortran_order(std::string_view data, const NpyHeader& header,
                          const Shape& shape) {
  const std::vector<int64_t> dims(shape.dims().rbegin(), shape.dims().rend());
  std::vector<int> order(dims.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<int>(order.size() - 1 - i);
  }
  return elements(data, header, Shape(std::span<const int64_t>(dims)))
      .transposed(order);
}

/// Cuts the magic, the version and the header off the front of `rest`.
NpyHeader take_header(std::string_view& rest) {
  const auto take = [&rest](size_t count, std::string_view what) {
    if (rest.size() < count) {
      throw FormatError(fmt::format("NPY {}: expected {} bytes, got {}", what,
                                    count, rest.size()));
    }
    const std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  };
  if (!rest.starts_with(kMagic)) {
    refuse_other_kind(kNpyFile, rest);
    throw FormatError(
        "NPY magic: expected '\\x93NUMPY', got something else; it is no NPY "
        "file");
  }
  rest.remove_prefix(kMagic.size());
  const std::string_view version = take(2, "version");
  const int major = static_cast<unsigned char>(version[0]);
  const int minor = static_cast<unsigned char>(version[1]);
  if (major < 1 || major > 3 || minor != 0) {
    throw FormatError(fmt::format(
        "NPY version: expected 1.0, 2.0 or 3.0, got {}.{}", major, minor));
  }
  const std::string_view length = take(major == 1 ? 2 : 4, "header length");
  const size_t size = major == 1 ? element<uint16_t>(length.data(), false)
                                 : element<uint32_t>(length.data(), false);
  return parse_npy_header(take(size, "header"));
}

std::string_view descriptor_of(DType type) {
  switch (type) {
    case DType::f32:
      return "<f4";
    case DType::i8:
      return "|i1";
    case DType::u8:
      return "|u1";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::boolean:
      return "|b1";
  }
  throw InternalError("NPY: expected a known element type, got another");
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_file_as(kNpyFile, path);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        std::string_view rest = bytes;
        const NpyHeader header = take_header(rest);
        const Shape shape = checked_shape(header.dims);
        const int64_t expected = shape.size() * header.type.bytes;
        const auto got = static_cast<int64_t>(rest.size());
        if (got != expected) {
          throw FormatError(
              fmt::format("NPY data: expected {} bytes for {}, got {}",
                          expected, shape.to_string(),
                          got < expected ? fmt::format("{}", got) : "more"));
        }
        if (header.fortran_order && shape.rank() > 1) {
          return from_fortran_order(rest, header, shape);
        }
        return elements(rest, header, shape);
      });
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  if (tensor.empty()) {
    throw ValueError("write_npy: expected a tensor, got an empty one");
  }
  std::string dims;
  for (const int64_t dim : tensor.shape().dims()) {
    dims += fmt::format("{}{},", dims.empty() ? "" : " ", dim);
  }
  // Python writes (3,) but (3, 4).
  if (tensor.shape().rank() > 1) dims.pop_back();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                  descriptor_of(tensor.dtype()), dims);
  const size_t front = kMagic.size() + 2 + 2;
  const size_t end =
      (front + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(end - front - 1, ' ');
  header += '\n';

  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  bytes += header;
  bytes.append(static_cast<const char*>(tensor.raw()),
               static_cast<size_t>(tensor.size() * size_of(tensor.dtype())));
  write_file(path, bytes);
}

}  // namespace octet::io
