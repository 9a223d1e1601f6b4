#include "npy_header.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {
namespace {

/// Headers are short, whatever a file claims. NumPy's own limit is 10,000.
constexpr size_t kLongestHeader = 1 << 16;

struct KnownType {
  std::string_view name;
  NpyType type;
};

constexpr std::array<KnownType, 8> kTypes = {{
    {"f2", {NpyKind::f2, false, 2, DType::f32}},
    {"f4", {NpyKind::f4, false, 4, DType::f32}},
    {"f8", {NpyKind::f8, false, 8, DType::f32}},
    {"i1", {NpyKind::i1, false, 1, DType::i8}},
    {"u1", {NpyKind::u1, false, 1, DType::u8}},
    {"i4", {NpyKind::i4, false, 4, DType::i32}},
    {"i8", {NpyKind::i8, false, 8, DType::i64}},
    {"b1", {NpyKind::b1, false, 1, DType::boolean}},
}};

/// Text of a file as a message may show it.
std::string shown(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string result;
  for (const char c : text.substr(0, kLongest)) {
    result += c >= ' ' && c <= '~' ? c : '?';
  }
  return text.size() > kLongest ? result + "..." : result;
}

NpyType type_of(std::string_view descriptor) {
  // '<' (little-endian), '>' (big-endian) or '|' (neither) and the type.
  if (descriptor.size() == 3) {
    const char order = descriptor[0];
    const auto known = std::find_if(
        kTypes.begin(), kTypes.end(),
        [&](const KnownType& t) { return t.name == descriptor.substr(1); });
    if (known != kTypes.end() && (order == '<' || order == '>' ||
                                  (order == '|' && known->type.bytes == 1))) {
      NpyType type = known->type;
      type.big_endian = order == '>';
      return type;
    }
  }
  throw FormatError(
      fmt::format("NPY element type: expected one of f2, f4, f8, i1, u1, i4, "
                  "i8, b1 with its byte order, got '{}'",
                  shown(descriptor)));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  NpyHeader parse() {
    NpyHeader header;
    bool have_type = false;
    bool have_order = false;
    bool have_shape = false;
    const auto once = [](bool& have, std::string_view key) {
      if (have) {
        throw FormatError(
            fmt::format("NPY header: expected '{}' once, got it twice", key));
      }
      have = true;
    };
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        once(have_type, key);
        header.type = type();
      } else if (key == "fortran_order") {
        once(have_order, key);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(have_shape, key);
        header.dims = tuple();
      } else {
        throw FormatError(
            fmt::format("NPY header: expected the keys 'descr', "
                        "'fortran_order' and 'shape', got '{}'",
                        shown(key)));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (!rest_.empty()) fail("its end");
    if (!have_type || !have_order || !have_shape) {
      throw FormatError(fmt::format(
          "NPY header: expected the keys 'descr', 'fortran_order' and "
          "'shape', got none '{}'",
          !have_type ? "descr" : (!have_order ? "fortran_order" : "shape")));
    }
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw FormatError(
        fmt::format("NPY header: expected {}, got {}", expected,
                    rest_.empty() ? "its end" : "'" + shown(rest_) + "'"));
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
    if (end == std::string_view::npos) fail("a string that ends");
    const std::string_view result = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return result;
  }

  NpyType type() {
    skip_space();
    if (rest_.starts_with('[')) {
      throw FormatError(
          "NPY element type: expected plain numbers, got records of several "
          "fields");
    }
    return type_of(string());
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
        fail("a size within 64 bits");
      }
      ++digits;
    }
    if (digits == 0) fail("a size >= 0");
    rest_.remove_prefix(digits);
    // Python 2 wrote its long integers so.
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

}  // namespace

NpyHeader parse_npy_header(std::string_view text) {
  if (text.size() > kLongestHeader) {
    throw FormatError(
        fmt::format("NPY header: expected at most {} bytes, got {}",
                    kLongestHeader, text.size()));
  }
  return Parser(text).parse();
}

}  // namespace octet::io
