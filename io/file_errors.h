// Conversion of errors about options and values to errors of the file that
// contains them. Internal to io.
#pragma once

#include <algorithm>
#include <string>

#include <octet/runtime/error.h>

namespace octet::io {

/// Returns `body()`. Adds the context frame `describe()` to an Error thrown by
/// `body`, unless the error already has this frame. Converts value, shape and
/// not-found errors to FormatError, as the file caused them.
template <class Describe, class Body>
decltype(auto) in_file(Describe describe, Body body) {
  try {
    return body();
  } catch (Error& error) {
    const std::string frame = describe();
    const bool has_frame =
        std::ranges::find(error.context(), frame) != error.context().end();
    const ErrorKind kind = error.kind();
    if (kind != ErrorKind::value && kind != ErrorKind::shape &&
        kind != ErrorKind::not_found) {
      if (!has_frame) error.add_context(frame);
      throw;
    }
    FormatError format_error(error);
    if (!has_frame) format_error.add_context(frame);
    throw format_error;
  }
}

}  // namespace octet::io
