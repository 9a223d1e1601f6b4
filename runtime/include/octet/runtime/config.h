// Config: an ordered tree of named values, with which layers, quantizers, plans
// and optimizers describe themselves. io converts it to and from JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet {

/// A value of a tree: null, a boolean, an integer, a floating-point number, a
/// string, a list, or an object, which maps names to values.
class Config {
 public:
  using List = std::vector<Config>;  ///< values in order
  /// Names and values in order; set() keeps the names unique.
  using Object = std::vector<std::pair<std::string, Config>>;

  /// Null, or a value of the argument's type.
  Config() = default;
  Config(bool value) : value_(value) {}
  Config(int value) : value_(int64_t{value}) {}
  Config(int64_t value) : value_(value) {}
  Config(double value) : value_(value) {}
  Config(float value) : value_(double{value}) {}
  Config(const char* value) : value_(std::string(value)) {}
  Config(std::string_view value) : value_(std::string(value)) {}
  Config(std::string value) : value_(std::move(value)) {}
  Config(List value) : value_(std::move(value)) {}
  Config(Object value) : value_(std::move(value)) {}

  /// Test the type. is_number() holds for integers and floating-point numbers.
  bool is_null() const {
    return std::holds_alternative<std::monostate>(value_);
  }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const {
    return is_int() || std::holds_alternative<double>(value_);
  }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_list() const { return std::holds_alternative<List>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  /// Return the value; as_number() also converts an integer.
  /// Throws: ValueError with the expected and the actual type.
  bool as_bool() const;
  int64_t as_int() const;
  double as_number() const;
  const std::string& as_string() const&;
  const List& as_list() const&;
  const Object& as_object() const&;

  /// The entry of an object, or null if it does not exist.
  /// Throws: ValueError for other types.
  const Config* find(std::string_view name) const&;
  /// The entry of an object. Throws: NotFoundError with similar names;
  /// ValueError for other types.
  const Config& at(std::string_view name) const&;

  /// As above for temporaries, which return values: `for (auto& entry :
  /// layer.config().as_object())`.
  std::string as_string() && { return as_string(); }
  List as_list() && { return as_list(); }
  Object as_object() && { return as_object(); }
  const Config* find(std::string_view name) const&& = delete;
  Config at(std::string_view name) && { return at(name); }

  /// Sets or replaces an entry and returns this object; null becomes an object.
  /// Throws: ValueError for other types.
  Config& set(std::string_view name, Config value);

  bool operator==(const Config&) const = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, List, Object>
      value_;
};

}  // namespace octet
