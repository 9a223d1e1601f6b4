// Functions of the user's that may throw without ending a transformation.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include <octet/runtime/error.h>

namespace octet::quant {

/// What `body` returns; if it throws, nothing, and `failure` says what.
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
