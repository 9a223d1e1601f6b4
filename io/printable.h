// Printable text from files, for messages and tables. Internal to io.
#pragma once

#include <octet/runtime/detail/printable.h>

namespace octet::io {

using octet::printable;

}  // namespace octet::io
