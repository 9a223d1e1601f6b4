#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "elements.h"
#include "file_kind.h"

namespace octet::io {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::string_view kNpyFile = "a NumPy array (.npy)";
constexpr int64_t kMostElements = int64_t{1} << 31;
/// Alignment of the data in bytes, as in NumPy.
constexpr size_t kAlignment = 64;
/// Maximum header size in bytes. NumPy's is 10,000.
constexpr size_t kLongestHeader = 1 << 16;

// ---- element types

template <class T>
T same(T x) {
  return x;
}
float to_single(double x) { return static_cast<float>(x); }
/// NumPy reads every nonzero byte as true.
bool to_boolean(uint8_t x) { return x != 0; }

template <class From, class To, To (*convert)(From)>
void read_elements(std::string_view data, bool swapped, Tensor& tensor) {
  const char* from = data.data();
  for (To& to : tensor.data<To>()) {
    to = convert(element<From>(from, swapped));
    from += sizeof(From);
  }
}

struct ElementType {
  std::string_view name;
  int64_t bytes;  ///< per element, in the file
  DType stored;   ///< in memory
  void (*read)(std::string_view data, bool swapped, Tensor& tensor);
};

constexpr std::array<ElementType, 9> kTypes = {{
    {"f2", 2, DType::f32, read_elements<uint16_t, float, half_to_float>},
    {"f4", 4, DType::f32, read_elements<float, float, same>},
    {"f8", 8, DType::f32, read_elements<double, float, to_single>},
    {"i1", 1, DType::i8, read_elements<int8_t, int8_t, same>},
    {"u1", 1, DType::u8, read_elements<uint8_t, uint8_t, same>},
    {"i2", 2, DType::i16, read_elements<int16_t, int16_t, same>},
    {"i4", 4, DType::i32, read_elements<int32_t, int32_t, same>},
    {"i8", 8, DType::i64, read_elements<int64_t, int64_t, same>},
    {"b1", 1, DType::boolean, read_elements<uint8_t, bool, to_boolean>},
}};

struct Header {
  const ElementType* type = nullptr;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// ---- the header

/// Text of a file, printable and shortened for messages.
std::string shown(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string result;
  for (const char c : text.substr(0, kLongest)) {
    result += c >= ' ' && c <= '~' ? c : '?';
  }
  return text.size() > kLongest ? result + "..." : result;
}

/// Parses {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: each
/// entry once, in any order, surrounded by white space.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  Header parse() {
    constexpr std::array<std::string_view, 3> kKeys = {"descr", "fortran_order",
                                                       "shape"};
    std::array<bool, 3> found{};
    Header header;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      const auto at =
          static_cast<size_t>(std::ranges::find(kKeys, key) - kKeys.begin());
      if (at == kKeys.size()) {
        throw FormatError("malformed_file", "NPY header",
                          fmt::format("unknown key '{}'; keys are 'descr', "
                                      "'fortran_order' and 'shape'",
                                      shown(key)));
      }
      if (found[at]) {
        throw FormatError("malformed_file", "NPY header",
                          fmt::format("duplicate key '{}'", key));
      }
      found[at] = true;
      if (at == 0) type(header);
      if (at == 1) header.fortran_order = boolean();
      if (at == 2) header.dims = tuple();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) fail("the end of the header");
    for (size_t i = 0; i < kKeys.size(); ++i) {
      if (found[i]) continue;
      throw FormatError("malformed_file", "NPY header",
                        fmt::format("no key '{}'", kKeys[i]));
    }
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw FormatError("malformed_file", "NPY header",
                      fmt::format("expected {}, got {}", expected,
                                  rest_.empty() ? "the end of the header"
                                                : "'" + shown(rest_) + "'"));
  }

  void skip_space() {
    const size_t end = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(std::min(end, rest_.size()));
  }

  bool accept(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string{'\'', c, '\''});
  }

  bool accept_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view string() {
    skip_space();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) {
      fail("a string");
    }
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) fail("a closing quote");
    const std::string_view result = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return result;
  }

  void type(Header& header) {
    skip_space();
    if (rest_.starts_with('[')) {
      throw FormatError("unsupported_type", "NPY element type",
                        "structured arrays are not supported");
    }
    // '<' (little-endian), '>' (big-endian) or '|' (neither) and the type.
    const std::string_view text = string();
    const char order = text.empty() ? '\0' : text[0];
    const auto known = std::ranges::find(kTypes, text.substr(order != '\0'),
                                         &ElementType::name);
    if (known == kTypes.end() || !(order == '<' || order == '>' ||
                                   (order == '|' && known->bytes == 1))) {
      throw FormatError("unsupported_type", "NPY element type",
                        fmt::format("expected f2, f4, f8, i1, u1, i4, i8 or b1 "
                                    "with its byte order, got '{}'",
                                    shown(text)));
    }
    header.type = known;
    header.big_endian = order == '>';
  }

  bool boolean() {
    skip_space();
    if (accept_word("True")) return true;
    if (accept_word("False")) return false;
    fail("True or False");
  }

  int64_t number() {
    skip_space();
    int64_t value = 0;
    size_t digits = 0;
    while (digits < rest_.size() && rest_[digits] >= '0' &&
           rest_[digits] <= '9') {
      if (__builtin_mul_overflow(value, int64_t{10}, &value) ||
          __builtin_add_overflow(value, int64_t{rest_[digits] - '0'}, &value)) {
        fail("a size that fits into 64 bits");
      }
      ++digits;
    }
    if (digits == 0) fail("a size >= 0");
    rest_.remove_prefix(digits);
    // Python 2 wrote long integers with this suffix.
    accept_word("L");
    return value;
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(number());
      if (!accept(',')) {
        // (3) without a comma is a number in Python, not a tuple.
        if (values.size() == 1) fail("','");
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view rest_;
};

/// Removes magic number, version and header from the front of `rest`.
Header take_header(std::string_view& rest) {
  const auto take = [&rest](size_t count, std::string_view what) {
    if (rest.size() < count) {
      throw FormatError(
          "truncated_file", fmt::format("NPY {}", what),
          fmt::format("expected {} bytes, got {}", count, rest.size()));
    }
    const std::string_view taken = rest.substr(0, count);
    rest.remove_prefix(count);
    return taken;
  };
  if (!rest.starts_with(kNpyMagic)) {
    refuse_other_kind(kNpyFile, rest);
    throw FormatError("unsupported_format", "NPY magic number",
                      "not a NumPy file: does not start with '\\x93NUMPY'");
  }
  rest.remove_prefix(kNpyMagic.size());
  const std::string_view version = take(2, "version");
  const int major = static_cast<unsigned char>(version[0]);
  const int minor = static_cast<unsigned char>(version[1]);
  if (major < 1 || major > 3 || minor != 0) {
    throw FormatError(
        "unsupported_version", "NPY version",
        fmt::format("expected 1.0, 2.0 or 3.0, got {}.{}", major, minor));
  }
  const std::string_view length = take(major == 1 ? 2 : 4, "header length");
  const size_t size = major == 1 ? element<uint16_t>(length.data(), false)
                                 : element<uint32_t>(length.data(), false);
  const std::string_view text = take(size, "header");
  if (size > kLongestHeader) {
    throw FormatError("size_limit", "NPY header",
                      fmt::format("must have at most {} bytes, got {}",
                                  kLongestHeader, size));
  }
  return HeaderParser(text).parse();
}

// ---- files

Shape checked_shape(const std::vector<int64_t>& dims) {
  if (dims.size() > Shape::kMaxRank) {
    throw FormatError("invalid_shape", "NPY shape",
                      fmt::format("must have at most {} dimensions, got {}",
                                  Shape::kMaxRank, dims.size()));
  }
  int64_t limit = kMostElements;
  for (const int64_t dim : dims) {
    limit /= std::max<int64_t>(dim, 1);
    if (limit == 0) {
      throw FormatError(
          "size_limit", "NPY shape",
          fmt::format("more than 2^31 elements: {}",
                      Shape(std::span<const int64_t>(dims)).to_string()));
    }
  }
  return Shape(std::span<const int64_t>(dims));
}

/// Shapes: Fortran order is C order of the reversed shape.
Tensor read_data(std::string_view data, const Header& header,
                 const Shape& shape) {
  const bool reverse = header.fortran_order && shape.rank() > 1;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  std::vector<int> order;
  if (reverse) {
    std::ranges::reverse(dims);
    for (int axis = shape.rank(); axis-- > 0;) order.push_back(axis);
  }
  Tensor tensor(Shape(std::span<const int64_t>(dims)), header.type->stored);
  header.type->read(data, header.big_endian, tensor);
  return reverse ? tensor.transposed(order) : tensor;
}

std::string_view descriptor_of(DType type) {
  switch (type) {
    case DType::f32:
      return "<f4";
    case DType::i8:
      return "|i1";
    case DType::u8:
      return "|u1";
    case DType::i16:
      return "<i2";
    case DType::i32:
      return "<i4";
    case DType::i64:
      return "<i8";
    case DType::boolean:
      return "|b1";
  }
  throw InternalError("internal", "NPY", "unknown element type");
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
  const std::string bytes = read_file_as(kNpyFile, path);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        std::string_view rest = bytes;
        const Header header = take_header(rest);
        const Shape shape = checked_shape(header.dims);
        const int64_t expected = shape.size() * header.type->bytes;
        const auto got = static_cast<int64_t>(rest.size());
        if (got < expected) {
          throw FormatError(
              "truncated_file", "NPY data",
              fmt::format("expected {} bytes for shape {}, got {}", expected,
                          shape.to_string(), got));
        }
        if (got > expected) {
          throw FormatError(
              "malformed_file", "NPY data",
              fmt::format("more than {} bytes, expected for shape {}", expected,
                          shape.to_string()));
        }
        return read_data(rest, header, shape);
      });
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  check_file_name(path, "a NumPy array", {".npy"});
  if (tensor.empty()) {
    throw ValueError("missing_value", "write_npy", "tensor must not be empty");
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
  const size_t front = kNpyMagic.size() + 2 + 2;
  const size_t end =
      (front + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  header.resize(end - front - 1, ' ');
  header += '\n';

  std::string bytes(kNpyMagic);
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
