#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <octet/io/json.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

using nlohmann::ordered_json;

// Deep enough for any model, shallow enough for recursive destructors.
constexpr size_t kMaxDepth = 100;

ordered_json to_nlohmann(const Config& config, size_t depth) {
  if (depth > kMaxDepth) {
    throw ValueError("size_limit", "JSON",
                     fmt::format("nesting exceeds {} levels", kMaxDepth));
  }
  if (config.is_null()) return nullptr;
  if (config.is_bool()) return config.as_bool();
  if (config.is_int()) return config.as_int();
  if (config.is_number()) return config.as_number();
  if (config.is_string()) return config.as_string();
  if (config.is_list()) {
    ordered_json list = ordered_json::array();
    for (const Config& entry : config.as_list()) {
      list.push_back(to_nlohmann(entry, depth + 1));
    }
    return list;
  }
  ordered_json object = ordered_json::object();
  for (const auto& [key, value] : config.as_object()) {
    object[key] = to_nlohmann(value, depth + 1);
  }
  return object;
}

// Records how far the parser got; nlohmann reports positions to its handlers
// only for its own errors.
struct TrackedIterator {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** furthest;

  reference operator*() const { return *at; }
  TrackedIterator& operator++() {
    ++at;
    *furthest = at;
    return *this;
  }
  TrackedIterator operator++(int) {
    const TrackedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedIterator& other) const { return at == other.at; }
};

// Removes the prefix and the position from nlohmann's message and shortens long
// tokens.
std::string reason_of(std::string_view what) {
  if (const size_t column = what.find("column "); column != what.npos) {
    if (const size_t end = what.find(": ", column); end != what.npos) {
      what.remove_prefix(end + 2);
    }
  } else if (const size_t end = what.find("] "); end != what.npos) {
    what.remove_prefix(end + 2);
  }
  constexpr size_t kLongest = 160;
  if (what.size() <= kLongest) return std::string(what);
  return std::string(what.substr(0, kLongest)) + "...";
}

// Builds a Config from nlohmann's events. The parser is iterative: nested input
// uses no stack before the depth check here.
class Handler {
 public:
  bool null() { return add(Config()); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return refuse_integer(std::to_string(value));
    }
    return add(static_cast<int64_t>(value));
  }
  bool number_float(double value, const std::string& text) {
    // The parser falls back to floating point for integers beyond 64 bits.
    if (text.find_first_of(".eE") == text.npos) return refuse_integer(text);
    return add(value);
  }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(const std::vector<uint8_t>&) {
    return refuse("binary data is not supported");
  }

  bool start_object(size_t) { return open(true); }
  bool start_array(size_t) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Frame& frame = frames_.back();
    if (!frame.keys.insert(name).second) {
      return refuse(fmt::format("duplicate key '{}'", name.substr(0, 80)));
    }
    frame.key = std::move(name);
    return true;
  }
  bool parse_error(size_t, const std::string&, const std::exception& error) {
    return refuse(reason_of(error.what()));
  }

  Config& root() { return root_; }
  const std::string& problem() const { return problem_; }

 private:
  struct Frame {
    bool is_object = false;
    Config::List list;
    Config::Object entries;
    std::string key;
    std::unordered_set<std::string> keys;
  };

  bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool refuse_integer(const std::string& text) {
    return refuse(fmt::format("integer does not fit into 64 bits: {}",
                              text.substr(0, 80)));
  }
  bool add(Config value) {
    if (frames_.empty()) {
      root_ = std::move(value);
    } else if (Frame& frame = frames_.back(); frame.is_object) {
      frame.entries.emplace_back(std::move(frame.key), std::move(value));
    } else {
      frame.list.push_back(std::move(value));
    }
    return true;
  }
  bool open(bool is_object) {
    if (frames_.size() == kMaxDepth) {
      return refuse(fmt::format("nesting exceeds {} levels", kMaxDepth));
    }
    frames_.emplace_back().is_object = is_object;
    return true;
  }
  bool close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return frame.is_object ? add(std::move(frame.entries))
                           : add(std::move(frame.list));
  }

  Config root_;
  std::vector<Frame> frames_;
  std::string problem_;
};

}  // namespace

std::string to_json(const Config& config) {
  // Text from foreign files may not be UTF-8: invalid bytes are replaced.
  return to_nlohmann(config, 0).dump(2, ' ', false,
                                     ordered_json::error_handler_t::replace);
}

Config from_json(std::string_view text) {
  const char* furthest = text.data();
  const char* end = text.data() + text.size();
  Handler handler;
  if (ordered_json::sax_parse(TrackedIterator{text.data(), &furthest},
                              TrackedIterator{end, &furthest}, &handler)) {
    return std::move(handler.root());
  }
  // The error is at the last character read.
  const size_t read = static_cast<size_t>(furthest - text.data());
  const std::string_view before = text.substr(0, read > 0 ? read - 1 : 0);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw FormatError(
      "malformed_file", "JSON",
      fmt::format("line {}, column {}: {}", line,
                  before.size() - line_start + 1, handler.problem()));
}

}  // namespace octet::io
