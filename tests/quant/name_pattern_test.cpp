// Regular expressions of untrusted specs.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::HasSubstr;

const SpecOptions kPattern{.is_regex = true};

Failure refused(const std::string& pattern) {
  QuantizationSpec spec;
  return failure_of<ValueError>([&] { spec.add(pattern, kPattern); });
}

const Failure kInvalid{"invalid_value", "regular expression"};

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

TEST(NamePattern, MayNestToAnyDepth) {
  for (const size_t depth : {100u, 2'000u, 18'000u, 32'000u}) {
    const std::string nested =
        repeated("(", depth) + "a" + repeated(")", depth);
    EXPECT_TRUE(matches(nested, "a")) << depth;
    EXPECT_FALSE(matches(nested, "b")) << depth;
    EXPECT_EQ(refused(nested + ")"), kInvalid);
  }
  EXPECT_TRUE(matches(repeated("(?:a|", 5'000) + repeated(")+", 5'000), "a"));
}

TEST(NamePattern, RefusesExcessiveLength) {
  EXPECT_EQ(refused(std::string(65'537, 'a')),
            (Failure{"size_limit", "regular expression"}));
  const std::string longest(65'536, 'a');
  EXPECT_TRUE(matches(longest, longest));
}

TEST(NamePattern, RefusesExcessiveMemory) {
  EXPECT_EQ(refused("((((a{100}){100}){100}){100}){100}"), kInvalid);
}

// Backtracking would take longer than the age of the universe.
TEST(NamePattern, NeedsNoBacktracking) {
  const std::string name(2'000, 'a');
  for (const char* pattern : {"(.+)+X", "(a*)*b", "(a|aa)+$b", "(a|a)*X",
                              "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[^a]"}) {
    EXPECT_FALSE(matches(pattern, name)) << pattern;
  }
  EXPECT_TRUE(matches("(a?){1000}(a{1000})", name));
}

TEST(NamePattern, HintsAtUnsupportedSyntax) {
  for (const char* pattern :
       {"(?=conv).*", "(?!conv).*", "(?<=a)b", R"((a)\1)"}) {
    const Failure failure = refused(pattern);
    EXPECT_EQ(failure, kInvalid);
    EXPECT_THAT(failure.message, HasSubstr("look-ahead"));
  }
  const std::string plain = refused("conv(").message;
  EXPECT_EQ(without_hint(plain), plain);
}

// The established syntax of specs, with its meaning.
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
