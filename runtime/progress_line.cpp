#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/runtime/progress_line.h>

namespace octet {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr auto kRedrawInterval = std::chrono::milliseconds(100);

/// A courtesy: what goes wrong here is nobody's concern.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

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
  // A day at most, so that the text stays short.
  const auto left = static_cast<int64_t>(
      std::min(86399.0, seconds * (1 - share) / std::max(share, 1e-9)));
  std::string line = fmt::format("{}  {:.0f} %  {:02}:{:02} left", task_,
                                 100 * share, left / 60, left % 60);
  const size_t width = line.size();
  if (width < width_) line.append(width_ - width, ' ');
  width_ = width;
  put('\r' + line);
}

}  // namespace octet
