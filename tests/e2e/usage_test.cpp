// Usage errors of the `octet` program.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/octet.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

CommandResult octet_with(const std::string& arguments) {
  return run_command(quoted(OCTET_BIN "/octet") + " " + arguments);
}

/// Expects exit code 2. Returns the output.
std::string refusal(const std::string& arguments) {
  const CommandResult r = octet_with(arguments);
  EXPECT_EQ(r.exit_code, 2) << arguments << "\n" << r.output;
  return r.output;
}

TEST(Usage, WithoutArgumentsPrintsTheHelp) {
  const CommandResult r = octet_with("");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.output, octet_with("--help").output);
  EXPECT_THAT(r.output, AllOf(HasSubstr("inspect"), HasSubstr("predict")));
}

TEST(Usage, OfAnUnknownCommandListsCommands) {
  EXPECT_THAT(
      refusal("summarize x.h5"),
      AllOf(HasSubstr("error: octet: "), HasSubstr("'summarize'"),
            HasSubstr("'inspect'"), Not(HasSubstr("subcommand is required"))));
  EXPECT_THAT(refusal("inspct x.h5"),
              HasSubstr("'inspct'; did you mean 'inspect'?"));
  EXPECT_THAT(refusal("quantise x.h5"),
              HasSubstr("'quantise'; did you mean 'quantize'?"));
  EXPECT_THAT(refusal("x.h5"), HasSubstr("command 'x.h5'"));
}

TEST(Usage, OfAnUnknownOptionSuggestsTheNearest) {
  EXPECT_THAT(refusal("inspect x.h5 --jsn"),
              AllOf(HasSubstr("octet inspect: "),
                    HasSubstr("'--jsn'; did you mean '--json'?")));
  EXPECT_THAT(refusal("predict x.h5 --inputs=x.npy --output y.npy"),
              HasSubstr("'--inputs'; did you mean '--input'"));
  EXPECT_THAT(refusal("predict x.h5 -input x.npy --output y.npy"),
              HasSubstr("did you mean '--input'"));
  EXPECT_THAT(refusal("--json inspect x.h5"),
              AllOf(HasSubstr("--json"), HasSubstr("inspect")));
  // The value is not parsed as the output, which may be an argument.
  EXPECT_THAT(refusal("train x.h5 --ratte 3 -o y.h5"),
              HasSubstr("'--ratte'; did you mean '--rate'?"));
  EXPECT_THAT(refusal("train x.h5 photos -o y.h5"),
              AllOf(HasSubstr("--output"), HasSubstr("'photos' and 'y.h5'")));
  EXPECT_THAT(refusal("--versoin"), HasSubstr("did you mean '--version'?"));
}

TEST(Usage, OfAMissingArgumentDescribesIt) {
  EXPECT_THAT(refusal("inspect"), HasSubstr("octet inspect: missing model ("));
  EXPECT_THAT(refusal("convert a.h5"),
              HasSubstr("octet convert: missing --output ("));
  EXPECT_THAT(refusal("predict m.h5 x.npy"),
              AllOf(HasSubstr("octet predict: "), HasSubstr("'x.npy'"),
                    HasSubstr("missing: --input (")));
  EXPECT_THAT(refusal("inspect a.h5 b.h5"), HasSubstr("argument 'b.h5'"));
}

TEST(Usage, OfAnUnknownValueSuggestsTheNearest) {
  const CommandResult r = octet_with("plan zoo:lenet --policy tensort");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.output,
              AllOf(HasSubstr("--policy"), HasSubstr("onnxruntime"),
                    HasSubstr("'tensort'; did you mean 'tensorrt'?")));
}

TEST(Usage, WithAnUnknownIsaIsRejectedFirst) {
  for (const char* arguments :
       {"inspect zoo:lenet", "plan zoo:lenet", "inspect none.h5"}) {
    const CommandResult r = run_command(fmt::format(
        "OCTET_ISA=avx9000 {} {}", quoted(OCTET_BIN "/octet"), arguments));
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_THAT(r.output,
                AllOf(HasSubstr("error: OCTET_ISA: "), HasSubstr("baseline"),
                      HasSubstr("'avx9000'"), Not(HasSubstr("in layer"))))
        << arguments;
  }
}

}  // namespace
}  // namespace octet
