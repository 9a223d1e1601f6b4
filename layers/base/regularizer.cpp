#include <cmath>
#include <string>

#include <fmt/format.h>

#include <octet/layers/parameter.h>
#include <octet/runtime/error.h>

#include "base/checks.h"

namespace octet {

Config to_config(const Regularizer& regularizer) {
  if (regularizer.none()) return {};
  return Config()
      .set("class_name", "L1L2")
      .set("config",
           Config().set("l1", regularizer.l1).set("l2", regularizer.l2));
}

Regularizer regularizer_from_config(const Config& config) {
  if (config.is_null()) return {};
  const std::string& name = config.at("class_name").as_string();
  if (name != "L1" && name != "L2" && name != "L1L2") {
    throw ValueError("invalid_value", "regularizer",
                     fmt::format("must be L1, L2 or L1L2, got '{}'", name));
  }
  const Config& numbers = config.at("config");
  const auto number = [&](const char* entry) {
    const Config* value = numbers.find(entry);
    return value == nullptr || value->is_null()
               ? 0.0f
               : static_cast<float>(value->as_number());
  };
  const Regularizer result{number("l1"), number("l2")};
  check_regularizer("regularizer", result);
  return result;
}

void check_regularizer(const char* what, const Regularizer& regularizer) {
  for (const float value : {regularizer.l1, regularizer.l2}) {
    if (!(value >= 0) || std::isinf(value)) {
      throw ValueError(
          "out_of_range", what,
          fmt::format("factors must be finite and at least 0, got {} and {}",
                      regularizer.l1, regularizer.l2));
    }
  }
}

}  // namespace octet
