// What leaves a public function of io is an Error: exceptions of the libraries
// that parse a file become one. Internal to io.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {

/// Runs `body`; an exception that leaves it and is no Error becomes a
/// FormatError about `subject`, "ONNX model".
template <class Body>
decltype(auto) without_foreign_errors(std::string_view subject, Body body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw FormatError(fmt::format("{}: it does not fit into memory", subject));
  } catch (const std::exception& error) {
    throw FormatError(
        fmt::format("{}: it cannot be processed ({})", subject, error.what()));
  }
}

}  // namespace octet::io
