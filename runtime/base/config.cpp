#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/config.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

constexpr const char* kKinds[] = {"null",     "a boolean", "an integer",
                                  "a number", "a string",  "a list",
                                  "an object"};

template <class T, class Variant>
const T& get(const Variant& value, const char* expected) {
  if (const T* found = std::get_if<T>(&value)) return *found;
  throw ValueError(
      "invalid_value", "configuration",
      fmt::format("must be {}, got {}", expected, kKinds[value.index()]));
}

}  // namespace

bool Config::as_bool() const { return get<bool>(value_, "a boolean"); }
int64_t Config::as_int() const { return get<int64_t>(value_, "an integer"); }
double Config::as_number() const {
  if (is_int()) return static_cast<double>(as_int());
  return get<double>(value_, "a number");
}
const std::string& Config::as_string() const& {
  return get<std::string>(value_, "a string");
}
const Config::List& Config::as_list() const& {
  return get<List>(value_, "a list");
}
const Config::Object& Config::as_object() const& {
  return get<Object>(value_, "an object");
}

const Config* Config::find(std::string_view name) const& {
  for (const auto& [key, value] : as_object()) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Config& Config::at(std::string_view name) const& {
  if (const Config* found = find(name)) return *found;
  std::vector<std::string> names;
  for (const auto& [key, value] : as_object()) names.push_back(key);
  throw NotFoundError(
      "unknown_name", "configuration",
      fmt::format("no entry '{}'{}", name, suggest_names(name, names)));
}

Config& Config::set(std::string_view name, Config value) {
  if (is_null()) value_ = Object();
  auto& entries = const_cast<Object&>(as_object());
  for (auto& [key, old] : entries) {
    if (key == name) {
      old = std::move(value);
      return *this;
    }
  }
  entries.emplace_back(std::string(name), std::move(value));
  return *this;
}

}  // namespace octet
