#pragma once

namespace octet {

/// "major.minor.patch" of the library.
const char* version();

}  // namespace octet
