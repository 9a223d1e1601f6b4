// The shapes of a call, for messages.
#pragma once

#include <string>

#include <octet/runtime/shape.h>

namespace octet {

/// "[N,28,28,1], [N,10]" of anything that has shapes; empty for none.
template <class Values>
std::string shapes_text(const Values& values) {
  std::string text;
  for (const auto& value : values) {
    text += (text.empty() ? "" : ", ") + value.shape().to_string();
  }
  return text;
}

}  // namespace octet
