// What the `octet` program says of a command line that it does not take.
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

/// Of wrong usage, which is exit code 2.
std::string refusal(const std::string& arguments) {
  const CommandResult r = octet_with(arguments);
  EXPECT_EQ(r.exit_code, 2) << arguments << "\n" << r.output;
  return r.output;
}

TEST(Usage, WithoutArgumentsIsTheHelp) {
  const CommandResult r = octet_with("");
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.output, octet_with("--help").output);
  EXPECT_THAT(r.output, AllOf(HasSubstr("inspect"), HasSubstr("predict")));
}

TEST(Usage, OfAnUnknownCommandNamesThoseThereAre) {
  EXPECT_THAT(refusal("summarize x.h5"),
              AllOf(HasSubstr("error: octet: expected a command, got "
                              "'summarize'; there are 'inspect', 'graph'"),
                    Not(HasSubstr("subcommand is required"))));
  EXPECT_THAT(refusal("inspct x.h5"),
              HasSubstr("got 'inspct'; did you mean 'inspect'?"));
  EXPECT_THAT(refusal("quantise x.h5"),
              HasSubstr("got 'quantise'; did you mean 'quantize'?"));
  EXPECT_THAT(refusal("x.h5"), HasSubstr("expected a command, got 'x.h5'"));
}

TEST(Usage, OfAnUnknownOptionNamesTheNearest) {
  EXPECT_THAT(refusal("inspect x.h5 --jsn"),
              HasSubstr("octet inspect: expected an option that it has, got "
                        "'--jsn'; did you mean '--json'?"));
  EXPECT_THAT(refusal("predict x.h5 --inputs=x.npy --output y.npy"),
              HasSubstr("got '--inputs'; did you mean '--input'"));
  EXPECT_THAT(refusal("predict x.h5 -input x.npy --output y.npy"),
              HasSubstr("did you mean '--input'"));
  EXPECT_THAT(refusal("--json inspect x.h5"),
              HasSubstr("octet: expected --json after inspect, got it before"));
  // Not as the output, which may be an argument.
  EXPECT_THAT(refusal("train x.h5 --ratte 3 -o y.h5"),
              HasSubstr("got '--ratte'; did you mean '--rate'?"));
  EXPECT_THAT(refusal("train x.h5 photos -o y.h5"),
              HasSubstr("expected --output once, got 'photos' and 'y.h5'"));
  EXPECT_THAT(refusal("--versoin"), HasSubstr("did you mean '--version'?"));
}

TEST(Usage, OfAMissingArgumentSaysWhatIsExpected) {
  EXPECT_THAT(refusal("inspect"),
              AllOf(HasSubstr("octet inspect: expected model (a file of Keras"),
                    HasSubstr("got none")));
  EXPECT_THAT(refusal("convert a.h5"),
              HasSubstr("octet convert: expected --output (the file to write), "
                        "got none"));
  EXPECT_THAT(refusal("predict m.h5 x.npy"),
              AllOf(HasSubstr("octet predict: expected --input (X.npy: "),
                    HasSubstr("got 'x.npy'")));
  EXPECT_THAT(refusal("inspect a.h5 b.h5"),
              HasSubstr("expected no more arguments, got 'b.h5'"));
}

TEST(Usage, OfAnUnknownValueNamesTheNearest) {
  const CommandResult r = octet_with("plan zoo:lenet --policy tensort");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(
      r.output,
      HasSubstr("--policy: expected tensorrt or toolkit or patterns or "
                "onnxruntime, got 'tensort'; did you mean 'tensorrt'?"));
}

TEST(Usage, WithAnIsaThatNobodyHasIsRefusedBeforeAnythingElse) {
  for (const char* arguments :
       {"inspect zoo:lenet", "plan zoo:lenet", "inspect none.h5"}) {
    const CommandResult r = run_command(fmt::format(
        "OCTET_ISA=avx9000 {} {}", quoted(OCTET_BIN "/octet"), arguments));
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_THAT(r.output, AllOf(HasSubstr("error: OCTET_ISA: expected "),
                                HasSubstr("baseline"), HasSubstr("'avx9000'"),
                                Not(HasSubstr("in layer"))))
        << arguments;
  }
}

}  // namespace
}  // namespace octet
