#pragma once

#include <octet/runtime/language.h>

namespace octet {

/// "major.minor.patch" of the library.
const char* version();

}  // namespace octet
