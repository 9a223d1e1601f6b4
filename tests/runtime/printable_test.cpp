// Sanitizing text for terminals.
#include <string>

#include <gtest/gtest.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

TEST(Printable, PreservesTextOfAllLanguages) {
  for (const char* text : {"", "conv_1", "caf\xc3\xa9", "\xe5\xb1\xa4",
                           "\xf0\x9f\x99\x82", "\xc2\xa0", "\xef\xbf\xbd"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, ReplacesTerminalControls) {
  EXPECT_EQ(printable("\x1b[31m"), "?[31m");
  EXPECT_EQ(printable(std::string("\0\a\t\n\r\x7f", 6)), "??????");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "31m"),
            "a?31m");                           // 8-bit CSI
  EXPECT_EQ(printable("a\xe2\x80\xae"), "a?");  // right-to-left override
  EXPECT_EQ(printable("\xe2\x81\xa6"), "?");
}

// XML excludes U+FFFE and U+FFFF, HTML all noncharacters.
TEST(Printable, ReplacesNoncharacters) {
  EXPECT_EQ(printable("a\xef\xbf\xbe"), "a?");         // U+FFFE
  EXPECT_EQ(printable("\xef\xbf\xbf"), "?");           // U+FFFF
  EXPECT_EQ(printable("\xef\xb7\x90"), "?");           // U+FDD0
  EXPECT_EQ(printable("\xf0\x9f\xbf\xbf"), "?");       // U+1FFFF
  EXPECT_EQ(printable("\xe2\x80\x8f\xd8\x9c"), "??");  // direction marks
}

TEST(Printable, ReplacesInvalidUtf8) {
  EXPECT_EQ(printable("\xff"), "?");
  EXPECT_EQ(printable("a\x80z"), "a?z");
  EXPECT_EQ(printable("\xc3"), "?");  // truncated
  EXPECT_EQ(printable("\xc3("), "?(");
  EXPECT_EQ(printable("\xc0\xaf"), "??");  // overlong encoding
  EXPECT_EQ(printable("\xe0\x80\xaf"), "???");
  EXPECT_EQ(printable("\xf0\x80\x80\xaf"), "????");
  EXPECT_EQ(printable("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "????");  // beyond U+10FFFF
}

TEST(Printable, TruncatesBetweenCharacters) {
  EXPECT_EQ(printable("abcd", 4), "abcd");
  EXPECT_EQ(printable("abcde", 4), "abcd...");
  EXPECT_EQ(printable("abc\xc3\xa9", 4), "abc...");
  EXPECT_EQ(printable("", 0), "");
}

TEST(IsUtf8, RejectsOtherEncodings) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("a\x1b\xc3\xa9\xf0\x9f\x98\x80"));
  for (const char* text : {"sch\xf6n", "\xc3", "\xc0\xaf", "\xed\xa0\x80"}) {
    EXPECT_FALSE(is_utf8(text)) << printable(text);
  }
}

TEST(PrintableLines, PreservesLinesAndTabs) {
  EXPECT_EQ(printable_lines("a\tb\nc\r\x1b"), "a\tb\nc??");
}

TEST(Error, IsAlwaysPrintable) {
  IoError error("invalid_value", "'\xff\x1b[31m'", "not a name");
  error.add_context("in file '\x1b'");
  EXPECT_EQ(error.message(), "'??[31m': not a name");
  EXPECT_EQ(error.context().front(), "in file '?'");
  EXPECT_STREQ(error.what(), "'??[31m': not a name\n  in file '?'");
}

TEST(Warn, IsAlwaysPrintable) {
  Warning heard;
  const WarningSink before =
      set_warning_sink([&](const Warning& warning) { heard = warning; });
  warn("zero_range", "layer '\x1b[31m'", "is '\x1b'");
  set_warning_sink(before);
  EXPECT_EQ(heard.subject, "layer '?[31m'");
  EXPECT_EQ(heard.message, "layer '?[31m': is '?'");
}

}  // namespace
}  // namespace octet
