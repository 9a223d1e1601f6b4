// What the tests of io share: the message of the error that is expected.
#pragma once

#include <string>

#include <octet/runtime/error.h>

#include "../support.h"
#include "../temp_folder.h"

namespace octet::io {

/// The full text, context included, of the Expected that `body` throws;
/// "" if nothing or something else is thrown.
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
