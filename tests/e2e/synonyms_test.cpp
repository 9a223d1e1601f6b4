// Synonyms from other tools, and the position of outputs.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/octet.h>

#include "octet_command.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Synonyms : public ::testing::Test {
 protected:
  Synonyms() {
    const auto x = input({3}, "x");
    io::save_model(Model(x, Dense({.units = 3, .name = "d"})(x)),
                   folder_ / "m.h5");
    Tensor samples({12, 3});
    Rng(1).fill_normal(samples, 0, 1);
    Tensor labels({12}, DType::i64);
    for (size_t i = 0; i < 12; ++i) {
      labels.data<int64_t>()[i] = static_cast<int64_t>(i % 3);
    }
    io::write_npy(folder_ / "x.npy", samples);
    io::write_npy(folder_ / "l.npy", labels);
  }
  CommandResult run(const std::string& arguments) const {
    return run_command("cd " + quoted(folder_.path()) + " && " +
                       quoted(OCTET_BIN "/octet") + " " + arguments);
  }
  void expect_writes(const std::string& arguments, const char* file) const {
    std::filesystem::remove(folder_ / file);
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.exit_code, 0) << arguments << "\n" << r.output;
    EXPECT_TRUE(std::filesystem::exists(folder_ / file)) << arguments;
  }

  TempFolder folder_;
};

TEST_F(Synonyms, OfCommandsRunThem) {
  expect_writes("export m.h5 a.onnx", "a.onnx");
  for (const char* name : {"val", "test", "eval", "Evaluate"}) {
    const CommandResult r =
        run(std::string(name) + " m.h5 --data x.npy --labels l.npy --json");
    EXPECT_EQ(r.exit_code, 0) << name << r.output;
    EXPECT_GE(r.json().at("accuracy").as_number(), 0);
  }
  EXPECT_THAT(run("--help").output, Not(HasSubstr("  export ")));
}

TEST_F(Synonyms, OfOptionsSetThem) {
  expect_writes(
      "train m.h5 --input x.npy --labels l.npy --out t.h5 --lr=0.01 "
      "--batch-size 4 --epochs=1 --validation 0",
      "t.h5");
  expect_writes("quantize m.h5 --dataset x.npy --OUT q.onnx", "q.onnx");
  expect_writes("predict m.h5 --data x.npy --out y.npy", "y.npy");
  // Former names.
  expect_writes("graph m.h5 --separate -o g.svg", "g.svg");
  expect_writes(
      "train m.h5 --data x.npy --labels l.npy --epochs 1 --force -o f.h5",
      "f.h5");
  // Options of a command keep their meaning, values are unchanged.
  EXPECT_THAT(
      run("report m.h5 r.html --data x.npy --seconds 0 --command --lr").output,
      HasSubstr("r.html"));
  EXPECT_THAT(read_file(folder_ / "r.html"), HasSubstr("--lr"));
  EXPECT_THAT(run("convert --help").output, Not(HasSubstr("--out,")));
}

TEST_F(Synonyms, AnEmptyValueStaysEmpty) {
  const CommandResult r = run("evaluate m.h5 --data x.npy --labels= --json");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure, (Failure{"missing_value", "--labels"}));
}

TEST_F(Synonyms, HelpOfACommandIsAccepted) {
  EXPECT_EQ(run("help convert").output, run("convert --help").output);
  EXPECT_EQ(run("help export").output, run("convert --help").output);
  EXPECT_EQ(run("help").output, run("--help").output);
  const CommandResult r = run("help quantise");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.failure, (Failure{"unknown_name", "quantise"}));
}

TEST_F(Synonyms, AnOutputIsAnOptionOrTheSecondArgument) {
  expect_writes("convert m.h5 -o a.onnx", "a.onnx");
  expect_writes("convert m.h5 a.onnx", "a.onnx");
  expect_writes("quantize m.h5 q.onnx --data x.npy", "q.onnx");
  expect_writes("fold m.h5 f.h5", "f.h5");
  expect_writes("graph m.h5 g.svg", "g.svg");
  expect_writes("train m.h5 t.h5 --data x.npy --labels l.npy --epochs 1",
                "t.h5");
  expect_writes("qat m.h5 t.onnx --data x.npy --labels l.npy --epochs 1",
                "t.onnx");
  const CommandResult twice = run("convert m.h5 a.onnx -o b.onnx");
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_EQ(twice.failure, (Failure{"repeated_option", "--output"}));
}

TEST_F(Synonyms, AnOptionalValueIsNotAModel) {
  // The value of --pad is optional: a model after it is the argument.
  for (const char* words : {"--pad m.h5", "--pad 0 m.h5", "m.h5 --pad"}) {
    EXPECT_EQ(run("predict --input absent.jpg " + std::string(words)).failure,
              (Failure{"unsupported_model", "m.h5"}))
        << words;
  }
  EXPECT_EQ(run("predict --pad absent.h5 --input absent.jpg").failure,
            (Failure{"file_not_found", "absent.h5"}));
  EXPECT_EQ(run("predict --pad zoo:none --input absent.jpg").failure,
            (Failure{"unknown_name", "zoo"}));
}

TEST_F(Synonyms, AModelIsAnArgument) {
  const CommandResult r = run("predict --model m.h5 --input x.npy");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.failure, (Failure{"unknown_option", "--model"}));
}

TEST_F(Synonyms, CaseDoesNotMatterForWords) {
  EXPECT_EQ(run("plan zoo:LeNet --policy TensorRT").exit_code, 0);
  EXPECT_EQ(run("inspect zoo:MobileNet_V1_025").exit_code, 0);
  const Failure target = run("lint m.onnx --target TensorRT-10").failure;
  EXPECT_EQ(target, (Failure{"invalid_value", "--target"}));
  EXPECT_THAT(target.message, HasSubstr("'tensorrt10'"));
}

}  // namespace
}  // namespace octet
