// Errors: one type per kind, carrying context frames that outer layers add
// on the way up. A message reads `subject: expected X, got Y`, with a hint
// where there is a usual cure.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/language.h>

namespace octet {

enum class ErrorKind {
  shape,
  value,
  not_found,
  unsupported,
  format,
  io,
  interrupted,
  internal,
};

/// Base of everything Octet throws. `what()` is the message followed by one
/// line per context frame, innermost first.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message);

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& context() const { return context_; }

  /// Adds a frame such as "in layer 'conv1' (Conv2D), input [8,28,28,1]".
  void add_context(std::string frame);

  const char* what() const noexcept override { return full_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
  std::vector<std::string> context_;
  std::string full_;
};

/// An Error whose kind is part of its type, so that callers can catch it.
template <ErrorKind Kind>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(std::string message) : Error(Kind, std::move(message)) {}
};

using ShapeError = ErrorOf<ErrorKind::shape>;
using ValueError = ErrorOf<ErrorKind::value>;
using NotFoundError = ErrorOf<ErrorKind::not_found>;
using UnsupportedError = ErrorOf<ErrorKind::unsupported>;
using FormatError = ErrorOf<ErrorKind::format>;
using IoError = ErrorOf<ErrorKind::io>;
/// The user asked for the end, by Ctrl-C.
using InterruptedError = ErrorOf<ErrorKind::interrupted>;
/// Octet's own fault; please report it.
using InternalError = ErrorOf<ErrorKind::internal>;

/// Runs `body`; an Error that leaves it gains the frame `describe()` returns.
template <class Describe, class Body>
decltype(auto) with_context(Describe describe, Body body) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(describe());
    throw;
  }
}

/// Sends a warning to the sink (standard error unless set otherwise).
void warn(std::string_view message);

/// Replaces the warning sink and returns the previous one; an empty function
/// silences warnings.
using WarningSink = std::function<void(std::string_view)>;
WarningSink set_warning_sink(WarningSink sink);

}  // namespace octet
