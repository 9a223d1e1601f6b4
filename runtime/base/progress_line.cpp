#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/runtime/detail/progress_line.h>

namespace octet {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

/// Ignores errors: progress is optional.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

std::string duration_text(double seconds) {
  // Clamped to three years to keep the cast in range.
  const auto total =
      static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e8)));
  const int64_t minutes = total / 60;
  if (minutes < 60) return fmt::format("{:02}:{:02}", minutes, total % 60);
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, total % 60);
}

ProgressLine::ProgressLine(std::string task, int64_t total,
                           std::optional<bool> shown)
    : task_(std::move(task)),
      total_(std::max<int64_t>(total, 1)),
      shown_(shown.value_or(isatty(STDERR_FILENO) == 1)),
      next_(start_ + (shown ? Clock::duration::zero() : kPatience)) {}

ProgressLine::~ProgressLine() {
  if (width_ > 0) put('\r' + std::string(width_, ' ') + '\r');
}

void ProgressLine::advance(int64_t amount) {
  done_ += amount;
  if (!shown_) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kRedrawInterval;
  const double share =
      std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double left = seconds * (1 - share) / std::max(share, 1e-9);
  std::string line = fmt::format("{}  {:.0f} %  {} left", task_, 100 * share,
                                 duration_text(left));
  const size_t width = line.size();
  if (width < width_) line.append(width_ - width, ' ');
  width_ = width;
  put('\r' + line);
}

}  // namespace octet
