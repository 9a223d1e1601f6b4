// Usage errors of the `octet` program.
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/octet.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CommandResult octet_with(const std::string& arguments) {
  return run_command(quoted(OCTET_BIN "/octet") + " " + arguments);
}

/// Expects exit code 2.
Failure refusal(const std::string& arguments) {
  const CommandResult r = octet_with(arguments);
  EXPECT_EQ(r.exit_code, 2) << arguments << "\n" << r.output;
  return r.failure;
}

TEST(Usage, WithoutArgumentsPrintsTheHelp) {
  const CommandResult r = octet_with("");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.output, octet_with("--help").output);
  EXPECT_THAT(r.output, AllOf(HasSubstr("inspect"), HasSubstr("predict")));
}

TEST(Usage, OfAnUnknownWordSuggestsTheNearest) {
  const struct {
    const char* arguments;
    Failure failure;
    const char* nearest;
  } cases[] = {
      {"inspct x.h5", {"unknown_name", "inspct"}, "'inspect'"},
      {"quantise x.h5", {"unknown_name", "quantise"}, "'quantize'"},
      {"help quantise", {"unknown_name", "quantise"}, "'quantize'"},
      {"inspect x.h5 --jsn", {"unknown_option", "--jsn"}, "'--json'"},
      {"predict x.h5 --inputs=x.npy --output y.npy",
       {"unknown_option", "--inputs"},
       "'--input'"},
      {"predict x.h5 -input x.npy --output y.npy",
       {"unknown_option", "-input"},
       "'--input'"},
      // The value is not parsed as the output, which may be an argument.
      {"train x.h5 --ratte 3 -o y.h5",
       {"unknown_option", "--ratte"},
       "'--rate'"},
      {"--versoin", {"unknown_option", "--versoin"}, "'--version'"},
  };
  for (const auto& [arguments, failure, nearest] : cases) {
    const Failure found = refusal(arguments);
    EXPECT_EQ(found, failure) << arguments;
    EXPECT_THAT(found.message, HasSubstr(nearest));
  }
}

TEST(Usage, OfAnUnknownCommandListsCommands) {
  const Failure failure = refusal("summarize x.h5");
  EXPECT_EQ(failure, (Failure{"unknown_name", "summarize"}));
  EXPECT_THAT(failure.message, HasSubstr("'inspect'"));
  EXPECT_EQ(refusal("x.h5"), (Failure{"unknown_name", "x.h5"}));
}

TEST(Usage, OfAMisplacedWordNamesIt) {
  EXPECT_EQ(refusal("--json inspect x.h5"),
            (Failure{"misplaced_option", "--json"}));
  EXPECT_EQ(refusal("train x.h5 photos -o y.h5"),
            (Failure{"repeated_option", "--output"}));
  EXPECT_EQ(refusal("predict m.h5 x.npy"),
            (Failure{"unexpected_argument", "x.npy"}));
  EXPECT_EQ(refusal("inspect a.h5 b.h5"),
            (Failure{"unexpected_argument", "b.h5"}));
}

TEST(Usage, OfAMissingArgumentNamesIt) {
  EXPECT_EQ(refusal("inspect"), (Failure{"missing_value", "model"}));
  EXPECT_EQ(refusal("convert a.h5"), (Failure{"missing_value", "--output"}));
}

TEST(Usage, OfAnUnknownValueNamesTheOption) {
  const CommandResult r = octet_with("plan zoo:lenet --policy tensort");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure, (Failure{"invalid_value", "--policy"}));
  EXPECT_THAT(r.failure.message, HasSubstr("'tensorrt'"));
}

TEST(Usage, WithAnUnknownIsaIsRejectedFirst) {
  for (const char* arguments :
       {"inspect zoo:lenet", "plan zoo:lenet", "inspect none.h5"}) {
    const CommandResult r = run_command(fmt::format(
        "OCTET_ISA=avx9000 {} {}", quoted(OCTET_BIN "/octet"), arguments));
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_EQ(r.failure, (Failure{"unsupported_value", "OCTET_ISA"}))
        << arguments;
  }
}

TEST(Usage, WithAnUnknownTraceIsRejectedFirst) {
  const auto failure = [](const char* setting) {
    const CommandResult r = run_command(fmt::format(
        "{} {} inspect zoo:lenet", setting, quoted(OCTET_BIN "/octet")));
    EXPECT_EQ(r.exit_code, 1) << setting;
    return r.failure;
  };
  EXPECT_EQ(failure("OCTET_TRACE=ops,memory"),
            (Failure{"unknown_name", "OCTET_TRACE"}));
  EXPECT_EQ(failure("OCTET_CHECK_NAN=yes"),
            (Failure{"invalid_value", "OCTET_CHECK_NAN"}));
  EXPECT_EQ(failure("OCTET_TRACE_FILE=/no/such/folder/t.json"),
            (Failure{"cannot_write", "/no/such/folder/t.json"}));
}

}  // namespace
}  // namespace octet
