#include <cstdio>
#include <mutex>
#include <utility>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

namespace octet {

// Messages quote file contents and user input: control characters are replaced
// before a terminal could obey them.
Error::Error(ErrorKind kind, std::string code, std::string_view subject,
             std::string_view text)
    : std::runtime_error(code),
      kind_(kind),
      code_(std::move(code)),
      subject_(printable_lines(subject)),
      message_(subject_.empty() ? printable_lines(text)
                                : subject_ + ": " + printable_lines(text)),
      full_(message_) {}

std::string_view Error::text() const {
  const size_t prefix = subject_.empty() ? 0 : subject_.size() + 2;
  return std::string_view(message_).substr(prefix);
}

void Error::add_context(std::string_view frame) {
  context_.push_back(printable_lines(frame));
  full_ += "\n  " + context_.back();
}

namespace {

struct Sink {
  std::mutex mutex;
  WarningSink write = [](const Warning& warning) {
    std::fprintf(stderr, "warning: %s\n", warning.message.c_str());
  };
};

Sink& sink() {
  static Sink instance;
  return instance;
}

}  // namespace

void warn(ErrorCode code, std::string_view subject, std::string_view text) {
  const std::lock_guard lock(sink().mutex);
  if (!sink().write) return;
  Warning warning{std::string(code.name()), printable_lines(subject)};
  warning.message = warning.subject + ": " + printable_lines(text);
  sink().write(warning);
}

WarningSink set_warning_sink(WarningSink next) {
  const std::lock_guard lock(sink().mutex);
  return std::exchange(sink().write, std::move(next));
}

}  // namespace octet
