#include "keras/function_call.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/json.h>
#include <octet/layers/activation.h>
#include <octet/runtime/error.h>

namespace octet::io {

Config Settings::find(std::initializer_list<std::string_view> names) const {
  read_.insert(names.begin(), names.end());
  for (const std::string_view name : names) {
    for (const auto& [own, value] : called_) {
      if (own == name && !value.is_null()) return value;
    }
    const Config* value = config_.find(name);
    if (value != nullptr && !value->is_null()) return *value;
  }
  return {};
}

Config Settings::positional() const {
  read_.insert("");
  for (const auto& [name, value] : called_) {
    if (name.empty()) return value;
  }
  return {};
}

Config Settings::find_or_positional(
    std::initializer_list<std::string_view> names) const {
  Config value = find(names);
  return value.is_null() ? positional() : value;
}

float Settings::number(std::initializer_list<std::string_view> names,
                       double otherwise) const {
  const Config value = find(names);
  return static_cast<float>(value.is_null() ? otherwise : value.as_number());
}

bool Settings::is_true(std::initializer_list<std::string_view> names) const {
  return find(names) == Config(true);
}

bool Settings::is_none(std::string_view name) const {
  const Config* value = config_.find(name);
  return value != nullptr && value->is_null();
}

void Settings::expect(std::string_view name, const Config& expected) const {
  const Config value = find({name});
  if (value.is_null() || value == expected) return;
  throw UnsupportedError("unsupported_attribute", std::string(name),
                         fmt::format("must be {}", to_json(expected)));
}

std::optional<std::string> Settings::unread() const {
  const auto is_left = [&](const std::string& name, const Config& value) {
    return name != "name" && !value.is_null() && value != Config(false) &&
           !read_.contains(name);
  };
  bool positional = false;
  for (const auto& [name, value] : called_) {
    if (is_left(name, value) || (name.empty() && positional)) return name;
    positional = positional || name.empty();
  }
  // Options of every layer, and fill values, which resizing does not use.
  constexpr std::string_view kUsual[] = {"dtype", "fill_mode", "fill_value",
                                         "function", "trainable"};
  for (const auto& [name, value] : config_.as_object()) {
    if (std::ranges::find(kUsual, name) == std::end(kUsual) &&
        is_left(name, value)) {
      return name;
    }
  }
  return std::nullopt;
}

void FunctionCall::arrange(const AxisOrder& wanted) {
  order = wanted;
  inputs.clear();
  for (const KerasValue& value : values) {
    inputs.push_back(materialize(value, wanted).tensor);
  }
}

int64_t FunctionCall::axis(const Config& given, int rank) const {
  if (!given.is_number()) {
    throw UnsupportedError("unsupported_attribute", "axis", "must be a number");
  }
  const int64_t axis =
      given.as_int() < 0 ? given.as_int() + rank : given.as_int();
  if (axis < 1 || axis >= rank) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format(
            "must be an axis of a sample, rank {} with the batch, got {}", rank,
            given.as_int()));
  }
  return axis_in(order, axis, rank);
}

std::vector<int64_t> FunctionCall::axes(const Config& given) const {
  std::vector<int64_t> result;
  if (given.is_list()) {
    for (const Config& each : given.as_list()) result.push_back(axis(each));
  } else if (!given.is_null()) {
    result.push_back(axis(given));
  }
  std::ranges::sort(result);
  if (result.empty() || std::ranges::adjacent_find(result) != result.end()) {
    throw UnsupportedError(
        "unsupported_attribute", "axis",
        fmt::format("must be unique axes of a sample of {}, got {}",
                    x().shape().to_string(),
                    given.is_null()
                        ? "all axes including the batch"
                        : fmt::format("({})", fmt::join(result, ","))));
  }
  return result;
}

// Sources: tensorflow/python/keras/layers/core.py (TFOpLambda names a function
// by its module in tf); class names in keras/src/ops/numpy.py and nn.py.
std::string keras_function_name(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kRenamed[] = {
      {"TrueDivide", "Divide"},
      {"__operators__.add", "Add"},
      {"__operators__.getitem", "GetItem"},
      {"clip_by_value", "Clip"},
      {"concat", "Concatenate"},
      {"image.resize", "Resize"},
      {"linalg.matmul", "Matmul"},
      {"math.abs", "Absolute"},
      {"math.pow", "Power"},
      {"math.truediv", "Divide"},
      {"nn.swish", "Silu"},
      {"reverse", "Flip"},
      {"split", "split"},
  };
  for (const auto& [tf, keras] : kRenamed) {
    if (name == tf) return std::string(keras);
  }
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return std::string(name);
  for (const std::string_view module : {"math.reduce_", "math.", "nn."}) {
    if (!name.starts_with(module)) continue;
    name.remove_prefix(module.size());
    break;
  }
  // "expand_dims" is ExpandDims.
  std::string result;
  bool upper = true;
  for (const char letter : name) {
    if (letter != '_') {
      result += upper && letter >= 'a' && letter <= 'z'
                    ? static_cast<char>(letter - 'a' + 'A')
                    : letter;
    }
    upper = letter == '_';
  }
  return result;
}

}  // namespace octet::io
