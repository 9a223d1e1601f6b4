#include <cstdio>
#include <mutex>
#include <utility>

#include <octet/runtime/error.h>
#include <octet/runtime/printable.h>

namespace octet {

// Whatever a message quotes, a terminal shows it and obeys nothing.
Error::Error(ErrorKind kind, std::string message)
    : std::runtime_error(message),
      kind_(kind),
      message_(printable_lines(message)),
      full_(message_) {}

void Error::add_context(std::string frame) {
  context_.push_back(printable_lines(frame));
  full_ += "\n  " + context_.back();
}

namespace {

struct Sink {
  std::mutex mutex;
  WarningSink write = [](std::string_view message) {
    std::fprintf(stderr, "warning: %.*s\n", static_cast<int>(message.size()),
                 message.data());
  };
};

Sink& sink() {
  static Sink instance;
  return instance;
}

}  // namespace

void warn(std::string_view message) {
  const std::lock_guard lock(sink().mutex);
  if (sink().write) sink().write(printable_lines(message));
}

WarningSink set_warning_sink(WarningSink next) {
  const std::lock_guard lock(sink().mutex);
  return std::exchange(sink().write, std::move(next));
}

}  // namespace octet
