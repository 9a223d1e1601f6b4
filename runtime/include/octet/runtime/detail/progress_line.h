// ProgressLine: progress of a long task, on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <octet/runtime/detail/language.h>

namespace octet {

/// "00:07", or "1:02:03" from an hour on. Rounds up to seconds.
std::string duration_text(double seconds);

/// A line such as "calibrate  45 %  00:12 left" on standard error. Appears
/// after a second, is redrawn at most ten times per second, and is erased by
/// the destructor. Errors of standard error are ignored. Not thread-safe.
class ProgressLine {
 public:
  /// `total` is the sum of all advance() amounts. `shown` forces the line on,
  /// from the start, or off. Default: shown on terminals, after a second.
  ProgressLine(std::string task, int64_t total,
               std::optional<bool> shown = std::nullopt);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Adds `amount` to the work done.
  void advance(int64_t amount);

 private:
  using Clock = std::chrono::steady_clock;

  std::string task_;
  int64_t total_;
  int64_t done_ = 0;
  bool shown_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_;  // next redraw
  size_t width_ = 0;        // of the displayed line
};

}  // namespace octet
