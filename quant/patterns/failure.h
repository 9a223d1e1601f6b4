// Calls to user functions that may throw without aborting a transformation.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include <octet/runtime/error.h>

namespace octet::quant {

/// Returns the result of `body`, or nothing if it throws; `failure` then has
/// the message.
template <class T, class Body>
std::optional<T> result_of(Body body, std::string& failure) {
  try {
    return body();
  } catch (const Error& error) {
    failure = error.message();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  return std::nullopt;
}

}  // namespace octet::quant
