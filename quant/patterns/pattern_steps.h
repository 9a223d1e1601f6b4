// Steps shared by the pattern lists.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <octet/quant/patterns.h>

namespace octet::quant {

inline PatternStep layer(std::vector<std::string> classes,
                         Condition only_if = {}) {
  return {.classes = std::move(classes), .only_if = std::move(only_if)};
}

inline PatternStep maybe(std::vector<std::string> classes) {
  return {.classes = std::move(classes), .optional = true};
}

inline PatternStep pad() { return maybe({"ZeroPadding1D", "ZeroPadding2D"}); }
inline PatternStep norm() { return maybe({"BatchNormalization"}); }

}  // namespace octet::quant
