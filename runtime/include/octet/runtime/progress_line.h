// ProgressLine: how far a task is that takes a while, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <octet/runtime/language.h>

namespace octet {

/// "00:07", or "1:02:03" from one hour on; part of a second counts as one.
std::string duration_text(double seconds);

/// A line such as "calibrate  45 %  00:12 left" on standard error. It appears
/// once the task has taken a second, is drawn anew ten times a second at most,
/// and is gone when the task has ended. Errors of standard error are ignored.
/// For one thread.
class ProgressLine {
 public:
  /// `total` is what advance() adds up to. `shown` says whether there is a line
  /// at all, and from the start; unless given, where standard error is a
  /// terminal, and after that second.
  ProgressLine(std::string task, int64_t total,
               std::optional<bool> shown = std::nullopt);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// So much more is done.
  void advance(int64_t amount);

 private:
  using Clock = std::chrono::steady_clock;

  std::string task_;
  int64_t total_;
  int64_t done_ = 0;
  bool shown_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;  // when to draw again
  size_t width_ = 0;        // of what stands on the line
};

}  // namespace octet
