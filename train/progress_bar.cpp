#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <octet/train/progress_bar.h>

namespace octet::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kRedrawInterval = std::chrono::milliseconds(100);
constexpr size_t kDefaultColumns = 80;
constexpr size_t kLongestBar = 30;
constexpr size_t kShortestBar = 5;

size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kDefaultColumns;
  }
  return size.ws_col;
}

/// Output is a courtesy: a closed pipe must not stop the training.
void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// "00:07", or "1:02:03" from one hour on.
std::string duration_text(double seconds) {
  // Four years keep the cast in range, whatever the estimate says.
  const auto total =
      static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e8)));
  const int64_t minutes = total / 60;
  if (minutes < 60) return fmt::format("{:02}:{:02}", minutes, total % 60);
  return fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, total % 60);
}

std::string epoch_text(const std::string& label, const Progress& progress) {
  return fmt::format("{}{}epoch {}/{}", label, label.empty() ? "" : "  ",
                     progress.epoch + 1, progress.epochs);
}

std::string loss_text(const Progress& progress) {
  return fmt::format("loss {:.4f}  acc {:.2f} %", progress.loss,
                     100.0 * progress.accuracy);
}

std::string rate_text(const Progress& progress) {
  const double rate =
      progress.seconds > 0
          ? static_cast<double>(progress.samples) / progress.seconds
          : 0.0;
  return fmt::format("{:.0f} img/s", rate);
}

/// Of the whole fit, at the pace of this epoch, without validation.
std::string left_text(const Progress& progress) {
  const auto step = static_cast<double>(progress.step);
  const auto steps = static_cast<double>(progress.steps);
  const auto later = static_cast<double>(progress.epochs - progress.epoch - 1);
  const double left = steps - step + later * steps;
  return duration_text(left * progress.seconds / std::max(step, 1.0)) + " left";
}

/// What stays on the screen of an epoch.
std::string epoch_line(const std::string& label, const Progress& progress) {
  std::string line =
      fmt::format("{}  {}  {}  {:.1f} s", epoch_text(label, progress),
                  loss_text(progress), rate_text(progress), progress.seconds);
  if (progress.validation != nullptr) {
    line += fmt::format("  val loss {:.4f}  val acc {:.2f} %",
                        progress.validation->loss,
                        100.0 * progress.validation->accuracy);
  }
  return line;
}

/// Columns of UTF-8 text, taking each character as one wide.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// The line while an epoch runs, at most `columns` wide: first the bar gives
/// way, then the end of the text.
std::string bar_line(const std::string& label, const Progress& progress,
                     size_t columns) {
  const double share =
      static_cast<double>(progress.step) /
      static_cast<double>(std::max<int64_t>(progress.steps, 1));
  const std::string before = epoch_text(label, progress) + "  ";
  const std::string after = fmt::format(
      "{:3.0f} %  {}  {}  {}", std::floor(100.0 * share), loss_text(progress),
      rate_text(progress), left_text(progress));
  const size_t text = width_of(before) + width_of(after);
  const size_t frame = 3;  // "[" and "] "
  if (text + frame + kShortestBar <= columns) {
    const size_t length = std::min(kLongestBar, columns - text - frame);
    const auto done = static_cast<size_t>(share * static_cast<double>(length));
    std::string bar(done, '=');
    if (done < length) bar += '>';
    bar.resize(length, ' ');
    return fmt::format("{}[{}] {}", before, bar, after);
  }
  std::string line = before + after;
  while (width_of(line) > columns) line.pop_back();
  return line;
}

class ProgressBar final : public Callback {
 public:
  explicit ProgressBar(std::string label)
      : label_(std::move(label)), terminal_(isatty(STDOUT_FILENO) == 1) {}

  ~ProgressBar() override {
    // An error ended the training within an epoch.
    if (open_) write("\n");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void on_step(const Progress& progress) override {
    if (!terminal_) return;
    const Clock::time_point now = Clock::now();
    if (open_ && progress.step < progress.steps &&
        now - drawn_ < kRedrawInterval) {
      return;
    }
    drawn_ = now;
    // A character in the last column would make some terminals wrap.
    redraw(bar_line(label_, progress, terminal_columns() - 1));
    open_ = true;
  }

  void on_epoch_end(const Progress& progress) override {
    const std::string line = epoch_line(label_, progress);
    if (open_) {
      redraw(line);
      write("\n");
    } else {
      write(line + "\n");
    }
    open_ = false;
    width_ = 0;
  }

 private:
  /// Draws over the last line, with blanks where that was longer.
  void redraw(const std::string& line) {
    const size_t width = width_of(line);
    const size_t blanks = width_ > width ? width_ - width : 0;
    write("\r" + line + std::string(blanks, ' '));
    width_ = width;
  }

  std::string label_;
  bool terminal_;
  bool open_ = false;  // a line without its newline is on the screen
  size_t width_ = 0;   // of that line
  Clock::time_point drawn_;
};

}  // namespace

std::shared_ptr<Callback> progress_bar(std::string label) {
  return std::make_shared<ProgressBar>(std::move(label));
}

}  // namespace octet::train
