// Errors: one exception type per kind. An error has a code for programs, the
// subject at fault, a text for people, and context frames that outer layers
// add while it propagates.
#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Kind of an error; each kind has an exception type below.
enum class ErrorKind {
  shape,        ///< dimensions that do not fit
  value,        ///< an invalid argument, option or state
  not_found,    ///< a name that does not exist
  unsupported,  ///< a valid request that Octet does not support
  format,       ///< invalid contents of a file
  io,           ///< a file that cannot be read or written
  interrupted,  ///< Ctrl-C
  internal,     ///< a defect of Octet
};

/// Machine-readable cause of an error or warning, such as "shape_mismatch".
/// Codes are stable: programs may branch on them, wording may change. Accepts
/// string literals of lowercase letters, digits and '_', checked at compile
/// time.
class ErrorCode {
 public:
  /// A string literal; other characters do not compile.
  template <size_t N>
  consteval ErrorCode(const char (&name)[N])  // NOLINT: implicit
      : name_(name, N - 1) {
    for (const char c : name_) {
      const bool valid =
          (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      if (!valid) throw "an error code has lowercase letters, digits and '_'";
    }
  }

  /// The code as text, such as "shape_mismatch".
  std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

/// Base of all exceptions that Octet throws. `what()` is the message, followed
/// by one line per context frame, innermost first.
class Error : public std::runtime_error {
 public:
  /// `code` should be the name of an ErrorCode. Control characters in `subject`
  /// and `text` are replaced.
  Error(ErrorKind kind, std::string code, std::string_view subject,
        std::string_view text);

  /// The kind; ErrorOf<kind()> is the type of the exception.
  ErrorKind kind() const { return kind_; }
  /// The cause, for programs: "shape_mismatch".
  const std::string& code() const { return code_; }
  /// The thing at fault: "Conv2D 'stem'", "--epochs", a file. May be empty.
  const std::string& subject() const { return subject_; }
  /// "subject: text", or the text alone if the subject is empty.
  const std::string& message() const { return message_; }
  /// The message without its subject.
  std::string_view text() const;
  /// The context frames, innermost first.
  const std::vector<std::string>& context() const { return context_; }

  /// Adds a frame such as "in layer 'conv1' (Conv2D), input [8,28,28,1]".
  void add_context(std::string_view frame);

  /// message(), then the context frames, one per line.
  const char* what() const noexcept override { return full_.c_str(); }

 private:
  ErrorKind kind_;
  std::string code_;
  std::string subject_;
  std::string message_;
  std::vector<std::string> context_;
  std::string full_;
};

/// An Error whose kind is part of its type, so that callers can catch it.
template <ErrorKind Kind>
class ErrorOf : public Error {
 public:
  /// The message reads "subject: text".
  ErrorOf(ErrorCode code, std::string_view subject, std::string_view text)
      : Error(Kind, std::string(code.name()), subject, text) {}
  /// An error of this kind with the code, subject, text and context of `other`.
  explicit ErrorOf(const Error& other)
      : Error(Kind, other.code(), other.subject(), other.text()) {
    for (const std::string& frame : other.context()) add_context(frame);
  }
};

/// Shapes, ranks or element counts do not fit.
using ShapeError = ErrorOf<ErrorKind::shape>;
/// An argument, option or state is invalid.
using ValueError = ErrorOf<ErrorKind::value>;
/// A name, such as a layer's, does not exist.
using NotFoundError = ErrorOf<ErrorKind::not_found>;
/// The request is valid, but Octet does not support it.
using UnsupportedError = ErrorOf<ErrorKind::unsupported>;
/// The contents of a file are invalid.
using FormatError = ErrorOf<ErrorKind::format>;
/// A file cannot be read or written.
using IoError = ErrorOf<ErrorKind::io>;
/// The user interrupted the program with Ctrl-C.
using InterruptedError = ErrorOf<ErrorKind::interrupted>;
/// A defect of Octet; please report it.
using InternalError = ErrorOf<ErrorKind::internal>;

/// Returns `body()`. Adds the frame `describe()` to an Error that it throws.
template <class Describe, class Body>
decltype(auto) with_context(Describe describe, Body body) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(describe());
    throw;
  }
}

/// A warning has a code, a subject and a message as an Error has.
struct Warning {
  std::string code;          ///< the cause, for programs; name of an ErrorCode
  std::string subject;       ///< the thing at fault, as of an Error
  std::string message = {};  ///< "subject: text"
};

/// Sends a warning to the sink (standard error by default). Thread-safe.
void warn(ErrorCode code, std::string_view subject, std::string_view text);

/// Receives warnings, from one thread at a time. It must not call warn() or
/// set_warning_sink().
using WarningSink = std::function<void(const Warning&)>;
/// Replaces the warning sink and returns the previous sink. An empty function
/// silences warnings. Thread-safe.
WarningSink set_warning_sink(WarningSink sink);

}  // namespace octet
