#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

Failure json_refusal(const std::string& text) {
  return failure_of<FormatError>([&] { from_json(text); });
}

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(ToJson, KeepsTheOrderOfEntriesAndIndentsByTwo) {
  Config config;
  config.set("zebra", 1).set("ant", Config::List{true, Config(), "x"});
  EXPECT_EQ(to_json(config),
            "{\n"
            "  \"zebra\": 1,\n"
            "  \"ant\": [\n"
            "    true,\n"
            "    null,\n"
            "    \"x\"\n"
            "  ]\n"
            "}");
}

TEST(ToJson, WritesNumbersExactly) {
  for (const double value : {0.1, -0.0, 1.0, 1.0 / 3.0, double{0.1f}, 5e-324,
                             2.5e-310, std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::min()}) {
    const Config back = from_json(to_json(value));
    ASSERT_FALSE(back.is_int()) << value;
    EXPECT_EQ(std::bit_cast<uint64_t>(back.as_number()),
              std::bit_cast<uint64_t>(value));
  }
  for (const int64_t value :
       {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min()}) {
    EXPECT_EQ(from_json(to_json(value)).as_int(), value);
  }
}

TEST(ToJson, WritesNanAndInfinityAsNull) {
  EXPECT_EQ(to_json(std::nan("")), "null");
  EXPECT_EQ(to_json(HUGE_VAL), "null");
  EXPECT_EQ(to_json(-HUGE_VAL), "null");
}

TEST(ToJson, ReplacesTextThatIsNotUtf8) {
  const std::string text = to_json("a\xff");
  EXPECT_EQ(from_json(text).as_string(), "a\xef\xbf\xbd");
}

TEST(ToJson, RejectsValuesThatFromJsonRejects) {
  Config config;
  for (int i = 0; i < 101; ++i) config = Config(Config::List{config});
  EXPECT_EQ(failure_of<ValueError>([&] { to_json(config); }),
            (Failure{"size_limit", "JSON"}));
}

TEST(FromJson, ParsesOutputOfToJson) {
  Config inner;
  inner.set("quote", "\"\\\n\t\x01").set("empty", Config::List());
  Config config;
  config.set("inner", inner)
      .set("", -7)
      .set("none", Config(Config::Object()))
      .set("list", Config::List{1.5, Config::List{Config()}, false});
  EXPECT_EQ(from_json(to_json(config)), config);
}

TEST(FromJson, DistinguishesIntegersFromOtherNumbers) {
  EXPECT_TRUE(from_json("3").is_int());
  EXPECT_FALSE(from_json("3.0").is_int());
  EXPECT_FALSE(from_json("3e0").is_int());
}

TEST(FromJson, NamesLineAndColumnOfASyntaxError) {
  EXPECT_EQ(json_refusal("{\n  \"a\": 1,\n  \"b\": ?\n}"),
            (Failure{"malformed_file", "JSON"}));
  EXPECT_EQ(json_refusal("?"), (Failure{"malformed_file", "JSON"}));
  EXPECT_EQ(json_refusal("[1,]"), (Failure{"malformed_file", "JSON"}));
}

TEST(FromJson, RejectsTruncatedText) {
  for (const char* text : {"", " ", "{", "[1", "\"abc", "{\"a\"", "tru"}) {
    EXPECT_EQ(json_refusal(text), (Failure{"malformed_file", "JSON"})) << text;
  }
}

TEST(FromJson, RejectsTextAfterTheValue) {
  EXPECT_EQ(json_refusal("{}\n {}"), (Failure{"malformed_file", "JSON"}));
}

TEST(FromJson, RejectsExtensionsOfJson) {
  for (const char* text : {"NaN", "[Infinity]", "{a: 1}", "'x'", "// x\n1",
                           "01", "+1", "[1,2,]"}) {
    EXPECT_EQ(json_refusal(text), (Failure{"malformed_file", "JSON"})) << text;
  }
}

TEST(FromJson, AcceptsAHundredLevelsAndRejectsMore) {
  EXPECT_NO_THROW(from_json(nested(100)));
  const Failure failure = json_refusal(nested(101));
  EXPECT_EQ(failure, (Failure{"malformed_file", "JSON"}));
  EXPECT_THAT(numbers_in(failure.text()),
              ElementsAre(1, 101, 100));  // line, column, limit
}

TEST(FromJson, RejectsAMillionLevelsWithoutUsingTheStack) {
  EXPECT_EQ(json_refusal(std::string(1000000, '[')),
            (Failure{"malformed_file", "JSON"}));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  EXPECT_EQ(json_refusal(objects), (Failure{"malformed_file", "JSON"}));
}

TEST(FromJson, RejectsIntegersOutsideInt64) {
  EXPECT_EQ(from_json("-9223372036854775808").as_int(),
            std::numeric_limits<int64_t>::min());
  for (const char* text :
       {"9223372036854775808", "-9223372036854775809", "18446744073709551616",
        "100000000000000000000000000000000"}) {
    EXPECT_EQ(json_refusal(text), (Failure{"malformed_file", "JSON"})) << text;
  }
}

TEST(FromJson, RejectsNumbersBeyondDouble) {
  EXPECT_EQ(json_refusal("1e999"), (Failure{"malformed_file", "JSON"}));
}

TEST(FromJson, RejectsDuplicateKeys) {
  const Failure failure = json_refusal("{\"a\": 1,\n\"a\": 2}");
  EXPECT_EQ(failure, (Failure{"malformed_file", "JSON"}));
  EXPECT_EQ(numbers_in(failure.text()).at(0), 2);  // line
  EXPECT_NO_THROW(from_json("{\"a\": {\"a\": 1}}"));
}

TEST(FromJson, RejectsTextThatIsNotUtf8) {
  EXPECT_EQ(json_refusal("[\"a\xff\"]"), (Failure{"malformed_file", "JSON"}));
}

TEST(FromJson, QuotesOnlyPrintableText) {
  for (const char* text : {"{\"a\": \xff}", "\"\xc3(\"", "\x1b[31m", "\xff\xfe",
                           "{\"\xc2\x9b\": 1, \"\xc2\x9b\": 2}"}) {
    for (const char c : json_refusal(text).message) {
      EXPECT_TRUE(c >= ' ' && c <= '~') << json_refusal(text).message;
    }
  }
}

TEST(FromJson, KeepsMessagesShort) {
  EXPECT_LT(json_refusal("[\"" + std::string(1000000, 'x')).message.size(),
            400u);
}

}  // namespace
}  // namespace octet::io
