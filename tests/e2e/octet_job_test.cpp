// octet run and octet completion.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/file.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OctetJob : public ::testing::Test {
 protected:
  CommandResult run(const std::string& job) const {
    write_file(folder_ / "job.toml", job);
    return run_command(fmt::format("cd {} && {}/octet run job.toml 2>&1",
                                   quoted(folder_.path()), OCTET_BIN));
  }
  TempFolder folder_;
};

TEST_F(OctetJob, RunsSectionsInOrder) {
  const CommandResult r =
      run("# two of them\n[convert]\nmodel = \"zoo:lenet\"\nonnx = \"a.onnx\"\n"
          "\n[inspect]\nmodel = \"a.onnx\"\njson = true\n");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_LT(r.output.find("job.toml: convert"),
            r.output.find("job.toml: inspect"));
  EXPECT_EQ(r.json().at("opset").as_int(), 13);
}

TEST_F(OctetJob, RunsACommandSeveralTimesWithListsOverLines) {
  const CommandResult r =
      run("[[convert]]\nmodel = 'zoo:lenet'\nonnx = 'a.onnx'\nbatch = 2\n"
          "[[convert]]\nmodel = 'zoo:lenet'\nonnx = 'b.onnx'\n"
          "[plan]\nmodel = 'zoo:lenet'\nexclude = [\n  'conv.*',  # both\n"
          "  'fc1',\n]\n");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "a.onnx"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "b.onnx"));
  EXPECT_LT(r.output.find("b.onnx:"), r.output.find("job.toml: plan"));
}

TEST_F(OctetJob, StopsAtTheFirstFailure) {
  const CommandResult r =
      run("[inspect]\nmodel = \"none.h5\"\n[convert]\nmodel = \"zoo:lenet\"\n"
          "onnx = \"a.onnx\"\n");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.onnx"));
}

TEST_F(OctetJob, RejectsInvalidJobs) {
  // Expects a message with the fact.
  const auto refusal = [&](const std::string& job, const char* fact = "") {
    const CommandResult r = run(job);
    EXPECT_NE(r.exit_code, 0);
    EXPECT_THAT(r.failure.message, HasSubstr(fact));
    return r.failure;
  };
  EXPECT_EQ(refusal(""), (Failure{"missing_value", "job.toml"}));
  EXPECT_EQ(refusal("epochs = 1\n"), (Failure{"misplaced_option", "epochs"}));
  EXPECT_EQ(refusal("[trian]\nepochs = 1\n", "'train'"),
            (Failure{"unknown_name", "[trian]"}));
  EXPECT_EQ(refusal("[train]\nepohcs = 1\n", "'epochs'"),
            (Failure{"unknown_option", "epohcs"}));
  EXPECT_EQ(refusal("[inspect]\njson = 7\n"),
            (Failure{"invalid_value", "json"}));
  EXPECT_EQ(refusal("[inspect]\njson = \"true\"\n", "line 2"),
            (Failure{"invalid_value", "json"}));
  EXPECT_EQ(
      refusal("[inspect]\nmodel = 'a'\n[inspect]\nmodel = 'b'\n", "line 3"),
      (Failure{"malformed_file", "job.toml"}));
  EXPECT_EQ(refusal("[inspect]\nmodel = 2020-01-01\n"),
            (Failure{"invalid_value", "model"}));
  EXPECT_EQ(refusal("[inspect]\nmodel = [['a']]\n"),
            (Failure{"invalid_value", "model"}));
  EXPECT_EQ(refusal("[inspect.model]\na = 1\n"),
            (Failure{"invalid_value", "model"}));
  EXPECT_EQ(refusal("[inspect]\nmodel = \n"),
            (Failure{"malformed_file", "job.toml"}));
  EXPECT_EQ(refusal("[run]\njob = \"job.toml\"\n"),
            (Failure{"unknown_name", "[run]"}));
}

TEST_F(OctetJob, AcceptsKeysInAnyOrderAndSynonyms) {
  const CommandResult r = run(
      "[export]\nonnx = \"a.onnx\"\nbatch-size = 2\nmodel = \"zoo:lenet\"\n");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "a.onnx"));
  EXPECT_EQ(run("[convert]\nonnx = \"a.onnx\"\n").failure,
            (Failure{"missing_value", "model"}));
}

TEST_F(OctetJob, NeverParsesAValueAsAnOption) {
  for (const char* value : {"--help", "--version", "-o", "--"}) {
    const CommandResult r =
        run(fmt::format("[inspect]\nmodel = \"{}\"\n", value));
    EXPECT_EQ(r.exit_code, 1) << value << r.output;
    EXPECT_THAT(r.output, HasSubstr(value));
    EXPECT_THAT(r.output, HasSubstr("error: "));
  }
  // An empty value does not consume the next word.
  const CommandResult r =
      run("[train]\nmodel = \"zoo:lenet\"\ncheckpoint = \"\"\njson = true\n"
          "data = \"none\"\noutput = \"t.h5\"\n");
  EXPECT_EQ(r.failure, (Failure{"invalid_value", "--checkpoint"}));
}

TEST_F(OctetJob, AcceptsTrueForAnOptionalValue) {
  for (const char* pad : {"true", "false", "0"}) {
    const CommandResult r = run(fmt::format(
        "[predict]\nmodel = 'none.h5'\ninput = 'a.jpg'\npad = {}\n", pad));
    EXPECT_EQ(r.failure, (Failure{"file_not_found", "none.h5"})) << pad;
  }
}

TEST_F(OctetJob, RejectsNulInValues) {
  write_file(folder_ / "m.h5", "x");
  const CommandResult r = run("[inspect]\nmodel = \"m.h5\\u0000x\"\n");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.failure, (Failure{"invalid_value", "job.toml"}));
}

// The parser and its tables are recursive.
TEST_F(OctetJob, RejectsDeepNesting) {
  const auto repeated = [](const char* part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
  };
  for (const std::string& job :
       {"[inspect]\na" + repeated(".a", 300'000) + " = 1\n",
        "[a" + repeated(".a", 300'000) + "]\n",
        "[inspect]\na" + repeated(" . \"a\"", 100'000) + " = 1\n",
        "[inspect]\na = " + repeated("[", 300'000) + "\n",
        "[inspect]\na = " + repeated("{a.b.c=", 100'000) + "\n"}) {
    const CommandResult r = run(job);
    EXPECT_EQ(r.exit_code, 1);
    EXPECT_EQ(r.failure, (Failure{"size_limit", "job.toml"}));
  }
  // Points in strings and numbers do not count.
  EXPECT_EQ(run("# " + repeated("a.", 50) + "\n[inspect]\nmodel = \"" +
                repeated("x.", 50) + "h5\"\n")
                .failure,
            (Failure{"file_not_found",
                     "x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x."
                     "x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.x.h5"}));
}

TEST_F(OctetJob, IsNotOverwritten) {
  const std::string job =
      "[plan]\nmodel = \"zoo:lenet\"\nsave = \"job.json\"\n";
  write_file(folder_ / "job.json", job);
  const CommandResult r =
      run_command(fmt::format("cd {} && {}/octet run job.json 2>&1",
                              quoted(folder_.path()), OCTET_BIN));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure, (Failure{"conflicting_options", "--save"}));
  EXPECT_EQ(read_file(folder_ / "job.json"), job);
}

TEST(OctetCompletion, CompletesCommandsOptionsAndWords) {
  const auto complete = [](const std::string& words, int at) {
    return run_command(
               fmt::format(
                   "bash -c '. <({}/octet completion bash); COMP_WORDS=({}); "
                   "COMP_CWORD={}; _octet; echo ${{COMPREPLY[@]}}' 2>&1",
                   OCTET_BIN, words, at))
        .output;
  };
  EXPECT_EQ(complete("octet quan", 1), "quantize\n");
  EXPECT_EQ(complete("octet train --val", 2), "--validation\n");
  EXPECT_EQ(complete("octet quantize --method m", 3), "max mse\n");
  EXPECT_EQ(complete("octet train m.h5", 2), "\n");
}

TEST(OctetCompletion, WritesForThreeShells) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const CommandResult r = run_command(
        fmt::format("{}/octet completion {} 2>&1", OCTET_BIN, shell));
    EXPECT_EQ(r.exit_code, 0);
    EXPECT_THAT(r.output, AllOf(HasSubstr("quantize"),
                                HasSubstr("auto max percentile mse entropy")));
  }
  const CommandResult r =
      run_command(fmt::format("{}/octet completion ksh 2>&1", OCTET_BIN));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure, (Failure{"invalid_value", "completion"}));
}

}  // namespace
}  // namespace octet
