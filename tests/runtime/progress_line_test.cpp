#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/detail/progress_line.h>

namespace octet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string shown(std::optional<bool> verbose, int64_t total) {
  ::testing::internal::CaptureStderr();
  {
    ProgressLine line("work", total, verbose);
    for (int i = 0; i < 4; ++i) line.advance(25);
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(ProgressLine, ShowsTheShareAndIsErasedAtTheEnd) {
  const std::string text = shown(true, 100);
  EXPECT_THAT(text, StartsWith("\rwork  25 %  "));
  EXPECT_THAT(text, HasSubstr(" left"));
  // Overwrites the line with blanks and returns to its start.
  const size_t last = text.find_last_not_of(' ');
  EXPECT_EQ(text[last], '\r');
  EXPECT_EQ(text.find_first_not_of(' ', text.rfind('\r', last - 1) + 1), last);
}

TEST(ProgressLine, IsSilentWithoutATerminal) {
  EXPECT_EQ(shown(std::nullopt, 100), "");
  EXPECT_EQ(shown(false, 100), "");
}

TEST(ProgressLine, ToleratesAWrongTotal) {
  EXPECT_THAT(shown(true, 0), HasSubstr("100 %"));
  EXPECT_THAT(shown(true, 10), HasSubstr("100 %"));
}

}  // namespace
}  // namespace octet
