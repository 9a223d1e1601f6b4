#include <gtest/gtest.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

TEST(Error, HasKindCodeSubjectAndText) {
  try {
    throw ShapeError("shape_mismatch", "matmul", "inner sizes differ: 2 and 3");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape);
    EXPECT_EQ(error.code(), "shape_mismatch");
    EXPECT_EQ(error.subject(), "matmul");
    EXPECT_EQ(error.text(), "inner sizes differ: 2 and 3");
    EXPECT_STREQ(error.what(), "matmul: inner sizes differ: 2 and 3");
  }
  EXPECT_THROW(throw IoError("cannot_read", "a.png", "no such file"), IoError);
}

TEST(Error, WithoutASubjectIsItsText) {
  const ValueError error("missing_value", "", "no samples");
  EXPECT_EQ(error.subject(), "");
  EXPECT_EQ(error.message(), "no samples");
  EXPECT_EQ(error.text(), "no samples");
}

TEST(Error, ConvertsToAnotherKind) {
  ValueError given("out_of_range", "rate", "must be positive, got 0");
  given.add_context("in layer 'a'");
  const FormatError error(static_cast<const Error&>(given));
  EXPECT_EQ(error.kind(), ErrorKind::format);
  EXPECT_EQ(error.code(), "out_of_range");
  EXPECT_EQ(error.subject(), "rate");
  EXPECT_STREQ(error.what(), "rate: must be positive, got 0\n  in layer 'a'");
}

TEST(Error, ReplacesControlCharacters) {
  const IoError error("cannot_read", "a\x1b[31m.png", "bad \x07 file");
  EXPECT_EQ(error.subject(), "a?[31m.png");
  EXPECT_EQ(error.text(), "bad ? file");
}

TEST(Error, CollectsContextFrames) {
  const auto fail = [] {
    with_context([] { return "in model 'm'"; },
                 [] {
                   with_context(
                       [] { return "in layer 'a'"; },
                       [] { throw ValueError("invalid_value", "x", "bad"); });
                 });
  };
  try {
    fail();
    FAIL() << "expected an error";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "x: bad");
    EXPECT_EQ(error.context(),
              (std::vector<std::string>{"in layer 'a'", "in model 'm'"}));
    EXPECT_STREQ(error.what(), "x: bad\n  in layer 'a'\n  in model 'm'");
  }
}

TEST(Error, ContextReturnsWhatTheBodyReturns) {
  EXPECT_EQ(with_context([] { return ""; }, [] { return 7; }), 7);
}

TEST(Warn, UsesTheCurrentSink) {
  Warning seen;
  const WarningSink before =
      set_warning_sink([&](const Warning& warning) { seen = warning; });
  warn("zero_range", "channel 3", "is dead");
  set_warning_sink(before);
  EXPECT_EQ(seen.code, "zero_range");
  EXPECT_EQ(seen.subject, "channel 3");
  EXPECT_EQ(seen.message, "channel 3: is dead");
}

}  // namespace
}  // namespace octet
