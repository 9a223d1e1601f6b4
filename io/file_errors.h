// Conversion of errors about options and values to errors of the file that
// contains them. Internal to io.
#pragma once

#include <algorithm>
#include <string>

#include <octet/runtime/error.h>

namespace octet::io {

/// Returns a copy of `error` of another kind: code, subject, text and context
/// are the same.
template <ErrorKind Kind>
ErrorOf<Kind> error_as(const Error& error) {
  Error same(Kind, error.code(), error.subject(), error.text());
  for (const std::string& frame : error.context()) same.add_context(frame);
  // The constructor accepts only codes known at compile time, so `same` is
  // assigned to the base of a placeholder.
  ErrorOf<Kind> result("internal", "", "");
  static_cast<Error&>(result) = same;
  return result;
}

/// Returns `body()`. Adds the context frame `describe()` to an Error thrown by
/// `body`, unless the error already has this frame. Converts value, shape and
/// not-found errors to FormatError, as the file caused them.
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
    FormatError fault = error_as<ErrorKind::format>(error);
    if (!said) fault.add_context(frame);
    throw fault;
  }
}

}  // namespace octet::io
