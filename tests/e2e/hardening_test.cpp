// Hardening of the linked program, which parses untrusted files. Source: the
// notes of readelf(1); `_FORTIFY_SOURCE` in feature_test_macros(7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::string readelf(const std::string& options) {
  const CommandResult r =
      run_command("readelf " + options + " " + quoted(OCTET_BIN "/octet"));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  return r.output;
}

TEST(Hardening, BindsAllSymbolsAtOnceAndMakesThemReadOnly) {
  EXPECT_THAT(readelf("-dW"), ContainsRegex("FLAGS_1.* NOW"));
  EXPECT_THAT(readelf("-lW"), HasSubstr("GNU_RELRO"));
}

TEST(Hardening, IsPositionIndependent) {
  EXPECT_THAT(readelf("-hW"), ContainsRegex("Type: +DYN"));
  EXPECT_THAT(readelf("-dW"), ContainsRegex("FLAGS_1.* PIE"));
}

TEST(Hardening, ProtectsTheStack) {
  EXPECT_THAT(readelf("-W --dyn-syms"), HasSubstr("__stack_chk_fail"));
}

TEST(Hardening, ChecksTheBuffersOfTheStandardLibrary) {
  EXPECT_THAT(readelf("-W --dyn-syms"),
              ContainsRegex("__(memcpy|memmove|memset|read|poll|fprintf)_chk"));
}

TEST(Hardening, HasNoExecutableStack) {
  EXPECT_THAT(readelf("-lW"), ContainsRegex("GNU_STACK .* RW +0x"));
}

}  // namespace
}  // namespace octet
