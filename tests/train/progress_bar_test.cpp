#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/train/callback.h>
#include <octet/train/fit.h>

#include "../facts.h"
#include "blobs.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// 400 of 1000 images of the second of five epochs, after two seconds.
Progress half_way() {
  return {.epoch = 1,
          .epochs = 5,
          .step = 4,
          .steps = 10,
          .samples = 400,
          .loss = 0.31214,
          .accuracy = 0.8871,
          .seconds = 2.0,
          .learning_rate = 1e-3};
}

Progress done() {
  Progress progress = half_way();
  progress.step = 10;
  progress.samples = 1000;
  progress.seconds = 4.0;
  return progress;
}

/// Returns the output of `body` to a file.
std::string in_a_file(const std::function<void()>& body) {
  testing::internal::CaptureStdout();
  body();
  return testing::internal::GetCapturedStdout();
}

/// Sets an environment variable during its lifetime.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value != nullptr) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
  }
  ~Environment() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

void set_columns(int terminal, uint16_t columns) {
  winsize size{};
  size.ws_col = columns;
  ioctl(terminal, TIOCSWINSZ, &size);
}

/// Returns the output of `body` to a terminal. It must fit the terminal's
/// buffer of 4 kB.
std::string on_a_terminal(uint16_t columns, const std::function<void()>& body,
                          const char* term = "xterm") {
  const Environment environment("TERM", term);
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    throw IoError("process_failed", "test", "no pseudo terminal");
  }
  const int screen = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  termios raw{};
  tcgetattr(screen, &raw);
  cfmakeraw(&raw);
  tcsetattr(screen, TCSANOW, &raw);
  set_columns(screen, columns);

  std::fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  dup2(screen, STDOUT_FILENO);
  body();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);

  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t count = read(terminal, buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(count));
  }
  close(screen);
  close(terminal);
  return text;
}

TEST(ProgressBar, PrintsAPlainLineIfOutputIsNotATerminal) {
  const std::string text = in_a_file([] {
    const auto bar = progress_bar("fp32");
    bar->on_step(half_way());
    bar->on_epoch_end(done());
  });
  EXPECT_EQ(text, "fp32  epoch 2/5  loss 0.3121  acc 88.71 %  250 img/s\n");
}

TEST(ProgressBar, AddsTheValidationResult) {
  const Evaluation validation{.loss = 0.25, .accuracy = 0.9, .samples = 10};
  Progress progress = done();
  progress.validation = &validation;
  const std::string text =
      in_a_file([&] { progress_bar()->on_epoch_end(progress); });
  EXPECT_EQ(text,
            "epoch 2/5  loss 0.3121  acc 88.71 %  250 img/s  val 90.00 %\n");
}

TEST(ProgressBar, PrintsTheFirstMetricWithoutAnAccuracy) {
  const Evaluation validation{.loss = 0.25, .accuracy = std::nan("")};
  Progress progress = done();
  progress.accuracy = std::nan("");
  progress.metrics = {{"mean_absolute_error", 0.125}, {"other", 1}};
  progress.validation = &validation;
  EXPECT_EQ(in_a_file([&] { progress_bar()->on_epoch_end(progress); }),
            "epoch 2/5  loss 0.3121  mean_absolute_error 0.1250  250 img/s  "
            "val loss 0.2500\n");
  progress.metrics.clear();
  EXPECT_EQ(in_a_file([&] { progress_bar()->on_epoch_end(progress); }),
            "epoch 2/5  loss 0.3121  250 img/s  val loss 0.2500\n");
}

TEST(ProgressBar, PrintsNothingToAFileForAnIncompleteEpoch) {
  EXPECT_EQ(in_a_file([] { progress_bar()->on_step(half_way()); }), "");
}

TEST(ProgressBar, AcceptsATimeOfZero) {
  Progress progress = done();
  progress.seconds = 0;
  EXPECT_EQ(in_a_file([&] { progress_bar()->on_epoch_end(progress); }),
            "epoch 2/5  loss 0.3121  acc 88.71 %  0 img/s\n");
}

TEST(ProgressBar, PrintsALinePerEpochOfAFit) {
  const std::string text = in_a_file([] {
    Model model = small_network();
    fit(model, blobs(10), {.epochs = 3, .callbacks = {progress_bar("x")}});
  });
  EXPECT_THAT(lines_of(text), ElementsAre(StartsWith("x  epoch 1/3  loss "),
                                          StartsWith("x  epoch 2/3  loss "),
                                          StartsWith("x  epoch 3/3  loss ")));
  EXPECT_EQ(std::ranges::count(text, '\r'), 0);
}

// As in Keras.
TEST(ProgressBar, IsTheDefaultOnATerminalOnly) {
  const auto fitted = [](FitOptions options) {
    return [options = std::move(options)] {
      Model model = small_network();
      fit(model, blobs(10), options);
    };
  };
  EXPECT_THAT(on_a_terminal(120, fitted({})), HasSubstr("epoch 1/1  loss "));
  EXPECT_EQ(in_a_file(fitted({})), "");
  EXPECT_EQ(on_a_terminal(120, fitted({.verbose = false})), "");
  EXPECT_THAT(in_a_file(fitted({.verbose = true})),
              StartsWith("epoch 1/1  loss "));
  // No second bar beside the user's.
  const std::string own =
      on_a_terminal(120, fitted({.callbacks = {progress_bar("own")}}));
  EXPECT_EQ(std::ranges::count(own, '\n'), 1);
  EXPECT_THAT(own, HasSubstr("own  epoch 1/1"));
}

TEST(ProgressBar, PrintsThePositionOfAResumedFit) {
  const auto resumed = [](const Progress& progress) {
    return in_a_file([&] { progress_bar("fp32")->on_resume(progress); });
  };
  Progress progress = half_way();
  EXPECT_EQ(resumed(progress), "fp32  resumed at epoch 2, step 4\n");
  progress.step = progress.steps;
  EXPECT_EQ(resumed(progress), "fp32  resumed after epoch 2\n");
  progress.epoch = progress.epochs - 1;
  EXPECT_EQ(resumed(progress), "");
}

TEST(ProgressBar, DrawsABarOnATerminal) {
  const std::string text = on_a_terminal(120, [] {
    const auto bar = progress_bar("fp32");
    bar->on_step(half_way());
    bar->on_epoch_end(done());
  });
  // Half a second per step: 6 steps of this epoch and 30 of later epochs.
  EXPECT_EQ(text,
            "\rfp32 2/5 [============>                 ] 40 % loss 0.3121 acc "
            "88.71 % 200/s 00:18\x1b[K"
            "\rfp32  epoch 2/5  loss 0.3121  acc 88.71 %  250 img/s\x1b[K\n");
}

TEST(ProgressBar, FillsTheBarAtTheLastStep) {
  const std::string text = on_a_terminal(120, [] {
    const auto bar = progress_bar();
    bar->on_step(half_way());
    bar->on_step(done());
  });
  EXPECT_THAT(
      text, EndsWith("\r2/5 [==============================] 100 % loss 0.3121 "
                     "acc 88.71 % 250/s 00:12\x1b[K\n"));
}

/// The widest line of a common job, in the last of ten epochs.
Progress wide() {
  Progress progress = done();
  progress.epoch = 9;
  progress.epochs = 10;
  progress.samples = 60000;
  progress.seconds = 60000.0 / 23111.0;
  return progress;
}

TEST(ProgressBar, ShowsABarIn80Columns) {
  Progress progress = wide();
  progress.step = 9;
  const std::string text =
      on_a_terminal(80, [&] { progress_bar("fp32")->on_step(progress); });
  EXPECT_EQ(text,
            "\rfp32 10/10 [====================>  ] 90 % loss 0.3121 acc 88.71 "
            "% 23111/s 00:01\x1b[K\n");
  EXPECT_EQ(text.find('\x1b'), 80u);  // 79 columns after \r
}

TEST(ProgressBar, FitsAFinishedEpochIn79Columns) {
  const Evaluation validation{.loss = 0.25, .accuracy = 1, .samples = 10};
  Progress progress = wide();
  progress.epoch = 98;
  progress.epochs = 99;
  progress.accuracy = 1;
  progress.validation = &validation;
  const std::string text =
      in_a_file([&] { progress_bar("fp32")->on_epoch_end(progress); });
  EXPECT_EQ(text,
            "fp32  epoch 99/99  loss 0.3121  acc 100.00 %  23111 img/s  "
            "val 100.00 %\n");
  EXPECT_LE(text.size() - 1, 79u);
}

TEST(ProgressBar, DropsTheRateBeforeTheBar) {
  const auto at = [](uint16_t columns) {
    return on_a_terminal(columns,
                         [] { progress_bar("fp32")->on_step(wide()); });
  };
  EXPECT_EQ(at(63),
            "\rfp32 10/10 [=====] 100 % loss 0.3121 acc 88.71 % 23111/s "
            "00:00\x1b[K\n");
  EXPECT_EQ(at(62),
            "\rfp32 10/10 [============] 100 % loss 0.3121 acc 88.71 % "
            "00:00\x1b[K\n");
  EXPECT_EQ(at(54), "\rfp32 10/10 100 % loss 0.3121 acc 88.71 % 00:00\x1b[K\n");
}

TEST(ProgressBar, ErasesALongerPreviousLineOnADumbTerminal) {
  for (const char* term : {"dumb", "", static_cast<const char*>(nullptr)}) {
    const std::string text = on_a_terminal(
        120,
        [] {
          const auto bar = progress_bar();
          bar->on_step(half_way());
          bar->on_epoch_end(done());
        },
        term);
    EXPECT_EQ(std::ranges::count(text, '\x1b'), 0);
    const size_t second = text.find('\r', 1);
    ASSERT_NE(second, std::string::npos);
    // Both lines begin with \r, and the second ends in a newline.
    EXPECT_EQ(text.size() - second - 1, second);
  }
}

TEST(ProgressBar, StaysWithinATerminalThatShrinks) {
  for (const char* term : {"xterm", "dumb"}) {
    const std::string text = on_a_terminal(
        120,
        [] {
          const auto bar = progress_bar("fp32");
          bar->on_step(half_way());
          set_columns(STDOUT_FILENO, 40);
          bar->on_step(done());
        },
        term);
    std::string last = text.substr(text.rfind('\r') + 1);
    last.erase(last.find_first_of("\x1b\n"));
    EXPECT_LT(last.size(), 40u) << last;
  }
}

TEST(ProgressBar, StaysWithinTheWidthOfTheTerminal) {
  for (const uint16_t columns :
       std::initializer_list<uint16_t>{200, 90, 80, 60, 40, 20, 2, 1}) {
    const std::string text = on_a_terminal(
        columns, [] { progress_bar("fp32")->on_step(half_way()); });
    ASSERT_THAT(text, StartsWith("\r"));
    ASSERT_THAT(text, EndsWith("\x1b[K\n"));
    EXPECT_LT(text.size() - 5, columns) << text;
  }
}

TEST(ProgressBar, ContinuesAfterTheReaderOfAPipeIsClosed) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  close(pipe_ends[0]);
  std::fflush(stdout);
  const int output = dup(STDOUT_FILENO);
  dup2(pipe_ends[1], STDOUT_FILENO);
  close(pipe_ends[1]);
  Model model = small_network();
  const auto history =
      fit(model, blobs(10), {.epochs = 3, .callbacks = {progress_bar()}});
  dup2(output, STDOUT_FILENO);
  close(output);
  std::clearerr(stdout);
  std::signal(SIGPIPE, before);
  EXPECT_EQ(history.size(), 3u);
}

TEST(ProgressBar, EndsAnOpenLineWhenTrainingIsAborted) {
  class Stop final : public Callback {
    void on_step(const Progress&) override {
      throw ValueError("invalid_state", "callback", "stop");
    }
  };
  const std::string text = on_a_terminal(120, [] {
    Model model = small_network();
    EXPECT_THROW(fit(model, blobs(10),
                     {.callbacks = {progress_bar(), std::make_shared<Stop>()}}),
                 ValueError);
  });
  EXPECT_THAT(text, StartsWith("\r1/1 ["));
  EXPECT_THAT(text, EndsWith("\n"));
}

TEST(ProgressBar, WritesNothingWhenItIsNeverCalled) {
  EXPECT_EQ(on_a_terminal(80, [] { progress_bar(); }), "");
}

}  // namespace
}  // namespace octet::train
