#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/train/progress_bar.h>

#include "blobs.h"

namespace octet::train {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// 400 of 1000 images of the second of five epochs, in two seconds.
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

/// What `body` writes to standard output where that is a file.
std::string in_a_file(const std::function<void()>& body) {
  testing::internal::CaptureStdout();
  body();
  return testing::internal::GetCapturedStdout();
}

/// What `body` writes to standard output where that is a terminal. The output
/// must fit the buffer of a terminal, 4 kB.
std::string on_a_terminal(uint16_t columns, const std::function<void()>& body) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    throw IoError("test: expected a pseudo terminal, got none");
  }
  const int screen = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  termios raw{};
  tcgetattr(screen, &raw);
  cfmakeraw(&raw);
  tcsetattr(screen, TCSANOW, &raw);
  winsize size{};
  size.ws_col = columns;
  ioctl(screen, TIOCSWINSZ, &size);

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

TEST(ProgressBar, PrintsAPlainLineWhereOutputIsNotATerminal) {
  const std::string text = in_a_file([] {
    const auto bar = progress_bar("fp32");
    bar->on_step(half_way());
    bar->on_epoch_end(done());
  });
  EXPECT_EQ(text,
            "fp32  epoch 2/5  loss 0.3121  acc 88.71 %  250 img/s  4.0 s\n");
}

TEST(ProgressBar, AddsTheValidationResult) {
  const Evaluation validation{.loss = 0.25, .accuracy = 0.9, .samples = 10};
  Progress progress = done();
  progress.validation = &validation;
  const std::string text =
      in_a_file([&] { progress_bar()->on_epoch_end(progress); });
  EXPECT_EQ(text,
            "epoch 2/5  loss 0.3121  acc 88.71 %  250 img/s  4.0 s  "
            "val loss 0.2500  val acc 90.00 %\n");
}

TEST(ProgressBar, PrintsNothingForAnEpochThatDidNotEndInAFile) {
  EXPECT_EQ(in_a_file([] { progress_bar()->on_step(half_way()); }), "");
}

TEST(ProgressBar, StandsATimeOfZero) {
  Progress progress = done();
  progress.seconds = 0;
  EXPECT_THAT(in_a_file([&] { progress_bar()->on_epoch_end(progress); }),
              HasSubstr("0 img/s"));
}

TEST(ProgressBar, PrintsALinePerEpochOfAFit) {
  const std::string text = in_a_file([] {
    fit(small_network(), blobs(10),
        {.epochs = 3, .callbacks = {progress_bar("x")}});
  });
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text, HasSubstr("x  epoch 3/3  loss "));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(ProgressBar, DrawsABarOnATerminal) {
  const std::string text = on_a_terminal(120, [] {
    const auto bar = progress_bar("fp32");
    bar->on_step(half_way());
    bar->on_epoch_end(done());
  });
  // Half a second a step: 6 steps of this epoch and 30 of later ones.
  EXPECT_THAT(text, StartsWith("\rfp32  epoch 2/5  [============>            "
                               "     ]  40 %  loss 0.3121  acc 88.71 %  200 "
                               "img/s  00:18 left"));
  EXPECT_THAT(text, HasSubstr("\rfp32  epoch 2/5  loss 0.3121  acc 88.71 %  "
                              "250 img/s  4.0 s"));
  EXPECT_THAT(text, EndsWith("\n"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
}

TEST(ProgressBar, FillsTheBarAtTheLastStep) {
  const std::string text = on_a_terminal(120, [] {
    const auto bar = progress_bar();
    bar->on_step(half_way());
    bar->on_step(done());
  });
  EXPECT_THAT(text, HasSubstr("[==============================] 100 %"));
}

TEST(ProgressBar, WipesOutTheLongerLineBefore) {
  const std::string text = on_a_terminal(120, [] {
    const auto bar = progress_bar();
    bar->on_step(half_way());
    bar->on_epoch_end(done());
  });
  const size_t second = text.find('\r', 1);
  ASSERT_NE(second, std::string::npos);
  // Both begin with \r, and the second ends in a newline.
  EXPECT_EQ(text.size() - second - 1, second);
}

TEST(ProgressBar, StaysWithinTheWidthOfTheTerminal) {
  for (const uint16_t columns :
       std::initializer_list<uint16_t>{200, 90, 80, 60, 40, 20, 2, 1}) {
    const std::string text = on_a_terminal(
        columns, [] { progress_bar("fp32")->on_step(half_way()); });
    ASSERT_THAT(text, StartsWith("\r"));
    ASSERT_THAT(text, EndsWith("\n"));
    EXPECT_LT(text.size() - 2, columns) << text;
  }
}

TEST(ProgressBar, EndsAnOpenLineWhenTrainingBreaksOff) {
  class Stop final : public Callback {
    void on_step(const Progress&) override { throw ValueError("stop"); }
  };
  const std::string text = on_a_terminal(120, [] {
    EXPECT_THROW(fit(small_network(), blobs(10),
                     {.callbacks = {progress_bar(), std::make_shared<Stop>()}}),
                 ValueError);
  });
  EXPECT_THAT(text, StartsWith("\repoch 1/1  ["));
  EXPECT_THAT(text, EndsWith("\n"));
}

TEST(ProgressBar, WritesNothingWhenItIsNeverCalled) {
  EXPECT_EQ(on_a_terminal(80, [] { progress_bar(); }), "");
}

}  // namespace
}  // namespace octet::train
