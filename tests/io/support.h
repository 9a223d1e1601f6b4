// Shared by the tests of io: messages of expected errors.
#pragma once

#include <string>

#include <octet/runtime/error.h>

#include "../support.h"
#include "../temp_folder.h"

namespace octet::io {

/// Returns the full text, including context, of the Expected that `body`
/// throws; "" if nothing or something else is thrown.
template <class Expected, class Body>
std::string error_of(Body body) {
  try {
    body();
  } catch (const Expected& error) {
    return error.what();
  } catch (const std::exception& error) {
    return "";
  }
  return "";
}

/// Whether a failure is an error of the expected type.
inline bool failed(const Failure& failure) {
  return failure.code != "no error" && failure.code != "error of another type";
}

}  // namespace octet::io
