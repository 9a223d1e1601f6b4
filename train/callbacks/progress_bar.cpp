#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <octet/runtime/detail/progress_line.h>
#include <octet/train/callback.h>

#include "is_progress_bar.h"

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

/// Whether the terminal supports the control sequences of ECMA-48.
bool knows_sequences() {
  const char* const term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

/// Ignores write errors. If the other end of a pipe is closed, SIGPIPE ends the
/// process unless the program ignores it.
void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

/// Images per second.
double rate_of(const Progress& progress) {
  return progress.seconds > 0
             ? static_cast<double>(progress.samples) / progress.seconds
             : 0.0;
}

/// Returns the remaining time of the fit at the speed of this epoch, without
/// validation.
std::string left_text(const Progress& progress) {
  const auto step = static_cast<double>(progress.step);
  const auto steps = static_cast<double>(progress.steps);
  const auto later = static_cast<double>(progress.epochs - progress.epoch - 1);
  const double left = steps - step + later * steps;
  return duration_text(left * progress.seconds / std::max(step, 1.0));
}

/// Returns the accuracy or, without any, the losses of the outputs, or the
/// first metric.
std::string metric_text(double accuracy,
                        const std::vector<MetricValue>& metrics) {
  if (!std::isnan(accuracy)) return fmt::format("acc {:.2f} %", 100 * accuracy);
  std::string text;
  for (const auto& [name, value] : metrics) {
    if (!text.empty() && !name.ends_with("_loss")) break;
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : "  ", name, value);
  }
  return text;
}

/// Returns the line of a completed epoch. Fits 79 columns with a label of four
/// characters.
std::string epoch_line(const std::string& label, const Progress& progress) {
  const std::string metric = metric_text(progress.accuracy, progress.metrics);
  std::string line = fmt::format(
      "{}{}epoch {}/{}  loss {:.4f}{}{}  {:.0f} img/s", label,
      label.empty() ? "" : "  ", progress.epoch + 1, progress.epochs,
      progress.loss, metric.empty() ? "" : "  ", metric, rate_of(progress));
  if (const Evaluation* validation = progress.validation) {
    line += std::isnan(validation->accuracy)
                ? fmt::format("  val loss {:.4f}", validation->loss)
                : fmt::format("  val {:.2f} %", 100.0 * validation->accuracy);
  }
  return line;
}

/// Returns the number of columns of UTF-8 text, one per character.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

/// Returns a bar of `length` characters for a share in [0, 1].
std::string bar_of(double share, size_t length) {
  const auto done = static_cast<size_t>(share * static_cast<double>(length));
  std::string bar(done, '=');
  if (done < length) bar += '>';
  bar.resize(length, ' ');
  return bar;
}

/// Returns the line during an epoch, at most `columns` wide. To fit, it
/// shortens the bar, then omits images/s, then the bar, then truncates the
/// text.
std::string bar_line(const std::string& label, const Progress& progress,
                     size_t columns) {
  const double share =
      static_cast<double>(progress.step) /
      static_cast<double>(std::max<int64_t>(progress.steps, 1));
  const std::string before =
      fmt::format("{}{}{}/{} ", label, label.empty() ? "" : " ",
                  progress.epoch + 1, progress.epochs);
  const std::string metric = metric_text(progress.accuracy, progress.metrics);
  const std::string state =
      fmt::format("{:.0f} % loss {:.4f} {}{}", std::floor(100.0 * share),
                  progress.loss, metric, metric.empty() ? "" : " ");
  const std::string rate = fmt::format("{:.0f}/s ", rate_of(progress));
  const std::string left = left_text(progress);
  for (const std::string& after : {state + rate + left, state + left}) {
    const size_t frame = 3;  // "[" and "] "
    const size_t text = width_of(before) + width_of(after) + frame;
    if (text + kShortestBar > columns) continue;
    const size_t length = std::min(kLongestBar, columns - text);
    return fmt::format("{}[{}] {}", before, bar_of(share, length), after);
  }
  std::string line = before + state + left;
  while (width_of(line) > columns) line.pop_back();
  return line;
}

class ProgressBar final : public Callback {
 public:
  explicit ProgressBar(std::string label)
      : label_(std::move(label)), terminal_(isatty(STDOUT_FILENO) == 1) {}

  ~ProgressBar() override {
    // An error ended the training during an epoch.
    if (open_) write("\n");
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool on_first_rank_only() const override { return true; }

  void on_resume(const Progress& progress) override {
    const bool epoch_done = progress.step == progress.steps;
    const bool last = progress.epoch + 1 == progress.epochs;
    if (epoch_done && last) return;  // the fit is complete
    write(fmt::format("{}{}resumed {}\n", label_, label_.empty() ? "" : "  ",
                      epoch_done
                          ? fmt::format("after epoch {}", progress.epoch + 1)
                          : fmt::format("at epoch {}, step {}",
                                        progress.epoch + 1, progress.step)));
  }

  void on_step(const Progress& progress) override {
    if (!terminal_) return;
    const Clock::time_point now = Clock::now();
    if (open_ && progress.step < progress.steps &&
        now - drawn_ < kRedrawInterval) {
      return;
    }
    drawn_ = now;
    // Some terminals wrap after a character in the last column.
    const size_t columns = terminal_columns() - 1;
    redraw(bar_line(label_, progress, columns), columns);
    open_ = true;
  }

  void on_epoch_end(const Progress& progress) override {
    const std::string line = epoch_line(label_, progress);
    if (open_) {
      // Not truncated: the line of a completed epoch may wrap.
      redraw(line, terminal_columns() - 1);
      write("\n");
    } else {
      write(fmt::format("{}\n", line));
    }
    open_ = false;
    width_ = 0;
  }

 private:
  /// Overwrites the current line: the last drawing or, after Ctrl-Z or a resize
  /// of the terminal, arbitrary text.
  void redraw(const std::string& line, size_t columns) {
    const size_t width = width_of(line);
    if (knows_sequences_) {
      write(fmt::format("\r{}\x1b[K", line));
    } else {
      const size_t until = std::max(width, std::min(width_, columns));
      write(fmt::format("\r{}{}", line, std::string(until - width, ' ')));
    }
    width_ = width;
  }

  std::string label_;
  bool terminal_;
  bool knows_sequences_ = knows_sequences();
  bool open_ = false;  // whether a line without newline is on the screen
  size_t width_ = 0;   // of this line
  Clock::time_point drawn_;
};

}  // namespace

bool is_progress_bar(const std::shared_ptr<Callback>& callback) {
  return dynamic_cast<const ProgressBar*>(callback.get()) != nullptr;
}

std::shared_ptr<Callback> progress_bar(std::string label) {
  return std::make_shared<ProgressBar>(std::move(label));
}

}  // namespace octet::train
