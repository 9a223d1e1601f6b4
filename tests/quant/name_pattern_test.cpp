// Regular expressions that a stranger's spec may hold.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const SpecOptions kPattern{.is_regex = true};

std::string refused(const std::string& pattern) {
  QuantizationSpec spec;
  return error_of<ValueError>([&] { spec.add(pattern, kPattern); });
}

bool matches(const std::string& pattern, std::string_view name) {
  QuantizationSpec spec;
  spec.add(pattern, kPattern);
  return spec.find(name, "Dense") != nullptr;
}

std::string repeated(std::string_view text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(NamePattern, MayNestAsDeepAsItIsLong) {
  for (const size_t depth : {100u, 2'000u, 18'000u, 32'000u}) {
    const std::string nested =
        repeated("(", depth) + "a" + repeated(")", depth);
    EXPECT_TRUE(matches(nested, "a")) << depth;
    EXPECT_FALSE(matches(nested, "b")) << depth;
    EXPECT_THAT(refused(nested + ")"),
                AllOf(HasSubstr("expected a regular expression, got '((("),
                      HasSubstr("...'")));
  }
  EXPECT_TRUE(matches(repeated("(?:a|", 5'000) + repeated(")+", 5'000), "a"));
}

TEST(NamePattern, RefusesOneThatIsTooLong) {
  EXPECT_THAT(refused(std::string(65'537, 'a')),
              HasSubstr("at most 65536 bytes, got 65537"));
  const std::string longest(65'536, 'a');
  EXPECT_TRUE(matches(longest, longest));
}

TEST(NamePattern, RefusesOneThatTakesTooMuchMemory) {
  EXPECT_THAT(refused("((((a{100}){100}){100}){100}){100}"),
              HasSubstr("expected a regular expression"));
}

// Each would take a matcher that goes back longer than the universe has been.
TEST(NamePattern, TakesNoTimeWhereGoingBackWouldTakeForEver) {
  const std::string name(2'000, 'a');
  for (const char* pattern : {"(.+)+X", "(a*)*b", "(a|aa)+$b", "(a|a)*X",
                              "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]"}) {
    EXPECT_FALSE(matches(pattern, name)) << pattern;
  }
  EXPECT_TRUE(matches("(a?){1000}(a{1000})", name));
}

TEST(NamePattern, TellsWhatItDoesNotHave) {
  for (const char* pattern :
       {"(?=conv).*", "(?!conv).*", "(?<=a)b", R"((a)\1)"}) {
    EXPECT_THAT(refused(pattern),
                AllOf(HasSubstr(pattern), HasSubstr("without look-ahead, "
                                                    "look-behind and "
                                                    "backreferences")));
  }
  EXPECT_THAT(refused("conv("), ::testing::Not(HasSubstr("Hint")));
}

// The syntax that specs have used, with what it meant.
TEST(NamePattern, MeansWhatEcmaScriptMeans) {
  struct Case {
    const char* pattern;
    const char* yes;
    const char* no;
  };
  for (const auto& [pattern, yes, no] : {
           Case{"conv_.*", "conv_1", "my_conv_1"},
           Case{"conv|dense", "dense", "densely"},
           Case{"a|ab", "ab", "abc"},
           Case{"block[1-3]_add", "block2_add", "block4_add"},
           Case{"[^/]+/kernel", "conv/kernel", "a/b/kernel"},
           Case{R"(\d+\w\s?-\.)", "12a-.", "ab-."},
           Case{"[[:alpha:]]+_[[:digit:]]{2,3}", "conv_123", "conv_1"},
           Case{R"([\w.]+)", "a.b_1", "a b"},
           Case{"(?:ab)+?c??", "ababc", "aba"},
           Case{"^conv$", "conv", "conv1"},
           Case{R"(a\/b\-c\_d)", "a/b-c_d", "a.b-c_d"},
           Case{R"(\bconv\b.*)", "conv 1", "conv1"},
           Case{R"(\x41\t)", "A\t", "A"},
           Case{"caf..", "caf\xc3\xa9", "caf"},  // bytes
           Case{"a.c",
                "a\xff"
                "c",
                "a\nc"},
           Case{"[\xc3\xa9]+", "\xc3\xa9", "e"},
       }) {
    EXPECT_TRUE(matches(pattern, yes)) << pattern;
    EXPECT_FALSE(matches(pattern, no)) << pattern;
  }
}

}  // namespace
}  // namespace octet::quant
