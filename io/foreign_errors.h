// Conversion of exceptions of parser libraries: public functions of io throw
// Errors only. Internal to io.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::io {

/// Returns `body()`.
/// Throws: Errors of `body`; FormatError about `subject` ("ONNX model") instead
/// of other exceptions.
template <class Body>
decltype(auto) without_foreign_errors(std::string_view subject, Body body) {
  try {
    return body();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw FormatError("memory_limit", subject, "does not fit into memory");
  } catch (const std::exception& error) {
    throw FormatError("malformed_file", subject,
                      fmt::format("cannot be processed: {}", error.what()));
  }
}

}  // namespace octet::io
