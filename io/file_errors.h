// How what Octet says of a wrong option becomes an error of the file that
// asked for it. Internal to io.
#pragma once

#include <algorithm>
#include <string>

#include <octet/runtime/error.h>

namespace octet::io {

/// Runs `body`; an Error that leaves it gains the frame `describe()` returns,
/// if it does not have it. Wrong values, shapes and names are the file's fault:
/// FormatError.
template <class Describe, class Body>
decltype(auto) in_file(Describe describe, Body body) {
  try {
    return body();
  } catch (Error& error) {
    const std::string frame = describe();
    const bool said =
        std::ranges::find(error.context(), frame) != error.context().end();
    const ErrorKind kind = error.kind();
    if (kind != ErrorKind::value && kind != ErrorKind::shape &&
        kind != ErrorKind::not_found) {
      if (!said) error.add_context(frame);
      throw;
    }
    FormatError fault(error.message());
    for (const std::string& inner : error.context()) fault.add_context(inner);
    if (!said) fault.add_context(frame);
    throw fault;
  }
}

}  // namespace octet::io
