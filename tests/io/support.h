// Shared by the tests of io: the message of an expected error.
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

}  // namespace octet::io
