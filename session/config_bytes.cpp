#include "config_bytes.h"

#include <cstdint>
#include <limits>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "little_endian.h"

namespace octet::session {
namespace {

// Type of a value, its first byte.
enum class Tag : uint8_t {
  null,
  no,
  yes,
  integer,  // 8 bytes
  number,   // 8 bytes, IEEE 754 double
  text,     // length (4), bytes
  list,     // number of values (4), values
  object,   // number of entries (4), entries of a length, a name and a value
};

void append_size(std::string& to, size_t size) {
  if (size > std::numeric_limits<uint32_t>::max()) {
    throw ValueError("size_limit", "session file",
                     fmt::format("text and lists must have less than 2^32 "
                                 "entries, got {}",
                                 size));
  }
  append_number(to, static_cast<uint32_t>(size));
}

void append_text(std::string& to, std::string_view text) {
  append_size(to, text.size());
  to += text;
}

void append_tag(std::string& to, Tag tag) { to += static_cast<char>(tag); }

void append_value(std::string& to, const Config& value, int depth) {
  if (depth > kMaxDepth) {
    throw ValueError("size_limit", "session file",
                     fmt::format("nesting exceeds {} levels", kMaxDepth));
  }
  if (value.is_null()) {
    append_tag(to, Tag::null);
  } else if (value.is_bool()) {
    append_tag(to, value.as_bool() ? Tag::yes : Tag::no);
  } else if (value.is_int()) {
    append_tag(to, Tag::integer);
    append_number(to, value.as_int());
  } else if (value.is_number()) {
    append_tag(to, Tag::number);
    append_number(to, value.as_number());
  } else if (value.is_string()) {
    append_tag(to, Tag::text);
    append_text(to, value.as_string());
  } else if (value.is_list()) {
    append_tag(to, Tag::list);
    append_size(to, value.as_list().size());
    for (const Config& entry : value.as_list()) {
      append_value(to, entry, depth + 1);
    }
  } else {
    append_tag(to, Tag::object);
    append_size(to, value.as_object().size());
    for (const auto& [name, entry] : value.as_object()) {
      append_text(to, name);
      append_value(to, entry, depth + 1);
    }
  }
}

[[noreturn]] void refuse(std::string_view text) {
  throw FormatError("malformed_file", "configuration", text);
}

class TreeParser {
 public:
  explicit TreeParser(std::string_view bytes) : rest_(bytes) {}

  Config parse() {
    Config value = next(0);
    if (!rest_.empty()) {
      refuse(fmt::format("{} bytes after its end", rest_.size()));
    }
    return value;
  }

 private:
  Config next(int depth) {
    if (depth > kMaxDepth) {
      refuse(fmt::format("nesting exceeds {} levels", kMaxDepth));
    }
    const auto tag = take<uint8_t>();
    switch (static_cast<Tag>(tag)) {
      case Tag::null:
        return {};
      case Tag::no:
        return false;
      case Tag::yes:
        return true;
      case Tag::integer:
        return take<int64_t>();
      case Tag::number:
        return take<double>();
      case Tag::text:
        return take_text();
      case Tag::list:
        return take_list(depth);
      case Tag::object:
        return take_object(depth);
    }
    refuse(fmt::format("unknown type {}", tag));
  }

  std::string_view take_bytes(size_t count) {
    if (count > rest_.size()) {
      refuse(
          fmt::format("expected {} bytes, {} are left", count, rest_.size()));
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  template <class T>
  T take() {
    return number_at<T>(take_bytes(sizeof(T)), 0);
  }
  std::string take_text() { return std::string(take_bytes(take<uint32_t>())); }
  // The number of entries, each of which has at least `least` bytes.
  uint32_t take_count(size_t least) {
    const auto count = take<uint32_t>();
    if (count > rest_.size() / least) {
      refuse(fmt::format("expected {} entries, {} bytes are left", count,
                         rest_.size()));
    }
    return count;
  }
  Config take_list(int depth) {
    Config::List list;
    for (uint32_t left = take_count(1); left > 0; --left) {
      list.push_back(next(depth + 1));
    }
    return list;
  }
  Config take_object(int depth) {
    Config::Object object;
    std::unordered_set<std::string> names;
    for (uint32_t left = take_count(5); left > 0; --left) {
      std::string name = take_text();
      if (!names.insert(name).second) {
        refuse(fmt::format("duplicate name '{}'", name.substr(0, 80)));
      }
      Config value = next(depth + 1);
      object.emplace_back(std::move(name), std::move(value));
    }
    return object;
  }

  std::string_view rest_;
};

}  // namespace

void append_config(std::string& to, const Config& value) {
  append_value(to, value, 0);
}

Config parse_config(std::string_view bytes) {
  return TreeParser(bytes).parse();
}

}  // namespace octet::session
