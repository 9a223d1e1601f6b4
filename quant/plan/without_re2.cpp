// Replaces name_pattern.cpp in libraries that do not link RE2.
#include <octet/runtime/error.h>

#include "plan/name_pattern.h"

namespace octet::quant {

class NamePattern::Expression {};

NamePattern::NamePattern(const std::string&) {
  throw UnsupportedError("unsupported_build", "regular expression",
                         "octet::session is built without RE2. Hint: name "
                         "layers or classes, or link octet::octet");
}

NamePattern::~NamePattern() = default;

bool NamePattern::matches(std::string_view) const { return false; }

}  // namespace octet::quant
