// Shapes of a call, for error contexts.
#pragma once

#include <string>

#include <octet/runtime/tensor.h>

namespace octet {

/// Returns "[N,28,28,1], [N,10]" for a range of values with shape(); empty for
/// none.
template <class Values>
std::string shapes_text(const Values& values) {
  std::string text;
  for (const auto& value : values) {
    text += (text.empty() ? "" : ", ") + value.shape().to_string();
  }
  return text;
}

}  // namespace octet
