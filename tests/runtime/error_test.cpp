#include <gtest/gtest.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

TEST(Error, CarriesItsKindInItsType) {
  try {
    throw ShapeError("x: expected [2], got [3]");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape);
    EXPECT_STREQ(error.what(), "x: expected [2], got [3]");
  }
  EXPECT_THROW(throw IoError("disk"), IoError);
}

TEST(Error, GainsFramesOnTheWayUp) {
  const auto fail = [] {
    with_context([] { return "in model 'm'"; },
                 [] {
                   with_context([] { return "in layer 'a'"; },
                                [] { throw ValueError("bad"); });
                 });
  };
  try {
    fail();
    FAIL() << "expected an error";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "bad");
    EXPECT_EQ(error.context(),
              (std::vector<std::string>{"in layer 'a'", "in model 'm'"}));
    EXPECT_STREQ(error.what(), "bad\n  in layer 'a'\n  in model 'm'");
  }
}

TEST(Error, ContextReturnsWhatTheBodyReturns) {
  EXPECT_EQ(with_context([] { return ""; }, [] { return 7; }), 7);
}

TEST(Warn, GoesToTheSinkThatIsSet) {
  std::string seen;
  const WarningSink before =
      set_warning_sink([&](std::string_view m) { seen = m; });
  warn("dead channel");
  set_warning_sink(before);
  EXPECT_EQ(seen, "dead channel");
}

}  // namespace
}  // namespace octet
