#include "values.h"

#include <cmath>
#include <limits>

#include <octet/io/json.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

constexpr std::string_view kNumber = "number";

std::string_view name_of(double number) {
  if (std::isnan(number)) return "nan";
  return number > 0 ? "inf" : "-inf";
}

/// Returns the tree with `leaf` applied to scalars and to objects that it
/// accepts.
template <class Leaf>
Config mapped(const Config& value, const Leaf& leaf) {
  if (Config changed; leaf(value, changed)) return changed;
  if (value.is_list()) {
    Config::List list;
    for (const Config& entry : value.as_list()) {
      list.push_back(mapped(entry, leaf));
    }
    return list;
  }
  if (value.is_object()) {
    Config::Object object;
    for (const auto& [name, entry] : value.as_object()) {
      object.emplace_back(name, mapped(entry, leaf));
    }
    return object;
  }
  return value;
}

bool to_plain(const Config& value, Config& changed) {
  if (!value.is_number() || value.is_int()) return false;
  if (std::isfinite(value.as_number())) return false;
  changed.set(kNumber, name_of(value.as_number()));
  return true;
}

bool from_plain(const Config& value, Config& changed) {
  if (!value.is_object() || value.as_object().size() != 1) return false;
  const Config* name = value.find(kNumber);
  if (name == nullptr || !name->is_string()) return false;
  for (const double number : {std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()}) {
    if (name->as_string() != name_of(number)) continue;
    changed = number;
    return true;
  }
  return false;
}

}  // namespace

std::string to_text(const Config& values) {
  const Config plain = mapped(values, to_plain);
  std::string text = to_json(plain);
  if (!(from_json(text) == plain)) {
    throw ValueError("invalid_value", "checkpoint",
                     "names and text must be valid UTF-8");
  }
  return text;
}

Config from_text(std::string_view text) {
  return mapped(from_json(text), from_plain);
}

}  // namespace octet::io
