// Invalid files and resource limits of the `octet` program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <octet/io/data.h>
#include <octet/octet.h>

#include "../io/keras_files.h"
#include "../io/onnx_models.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Runs octet; a hanging run ends after a minute.
CommandResult octet(const std::string& arguments) {
  return run_command("timeout 60 " + quoted(OCTET_BIN "/octet") + " " +
                     arguments);
}

/// Expects exit code 1 and a message with the fact.
Failure refusal(const std::string& arguments, const std::string& fact = "") {
  const CommandResult r = octet(arguments);
  EXPECT_EQ(r.exit_code, 1) << arguments << "\n" << r.output;
  EXPECT_THAT(r.failure.message, HasSubstr(fact));
  return r.failure;
}

/// A folder with a classifier of 3 inputs, samples and labels.
class OctetFiles : public ::testing::Test {
 protected:
  OctetFiles() {
    io::save(io::model_of("g (float[N,3] x) => (float[N,3] y) {\n"
                          "  y = Neg (x)\n"
                          "}"),
             folder_ / "m.onnx");
    io::write_npy(folder_ / "x.npy", Tensor::of<float>({2, 3}, {1, 2, 0,  //
                                                                0, 1, 2}));
    io::write_npy(folder_ / "l.npy", Tensor::of<int64_t>({2}, {2, 1}));
  }
  std::string at(const char* name) const { return quoted(folder_ / name); }

  TempFolder folder_;
};

TEST_F(OctetFiles, AreRejectedIfTheyArePipes) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((folder_ / "pipe.onnx").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((folder_ / "pipe.h5").c_str(), 0600), 0);
  for (const char* name : {"pipe", "pipe.onnx", "pipe.h5"}) {
    for (const std::string& command :
         {"inspect " + at(name), "plan " + at(name),
          "convert " + at(name) + " " + at("out.onnx"),
          "predict " + at(name) + " --input " + at("x.npy") + " --output " +
              at("y.npy")}) {
      EXPECT_EQ(refusal(command),
                (Failure{"cannot_read", (folder_ / name).string()}))
          << command;
    }
  }
  EXPECT_EQ(refusal("predict " + at("m.onnx") + " --output " + at("y.npy") +
                    " --input " + at("pipe")),
            (Failure{"cannot_read", (folder_ / "pipe").string()}));
  EXPECT_EQ(refusal("plan zoo:lenet --spec " + at("pipe")),
            (Failure{"cannot_read", (folder_ / "pipe").string()}));
}

TEST_F(OctetFiles, AreWrittenIntoPipes) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  const CommandResult r = run_command(fmt::format(
      "cat {0} > {1} & {2} predict {3} --input {4} --output {0} 2>&1; wait",
      at("pipe"), at("y.npy"), quoted(OCTET_BIN "/octet"), at("m.onnx"),
      at("x.npy")));
  EXPECT_THAT(r.output, HasSubstr("pipe: [2,3]"));
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
  const Tensor y = io::read_npy(folder_ / "y.npy");
  EXPECT_EQ(y.f32()[1], -2.f);
}

// Standard output has the file and nothing else.
TEST_F(OctetFiles, ArePipedWithoutTheReport) {
  const CommandResult r = run_command(fmt::format(
      "{} predict {} --input {} --labels {} --output /dev/stdout 2> {} | "
      "cat > {}",
      quoted(OCTET_BIN "/octet"), at("m.onnx"), at("x.npy"), at("l.npy"),
      at("report"), at("y.npy")));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(io::read_npy(folder_ / "y.npy").shape(), (Shape{2, 3}));
  EXPECT_THAT(
      read_file(folder_ / "report"),
      testing::AllOf(HasSubstr("/dev/stdout: [2,3]"), HasSubstr("accuracy: ")));
}

// Otherwise the samples would be lost.
TEST_F(OctetFiles, DoNotOverwriteInputs) {
  const std::string before = read_file(folder_ / "x.npy");
  std::filesystem::create_symlink(folder_ / "x.npy", folder_ / "link.npy");
  std::filesystem::create_symlink(folder_ / "m.onnx", folder_ / "model");
  for (const char* output : {"x.npy", "link.npy", "model"}) {
    EXPECT_EQ(refusal("predict " + at("m.onnx") + " --input " + at("x.npy") +
                          " --output " + at(output),
                      output),
              (Failure{"conflicting_options", "--output"}));
  }
  EXPECT_EQ(read_file(folder_ / "x.npy"), before);
}

TEST_F(OctetFiles, AreNotNeededToPrintAnAccuracy) {
  const std::string predict =
      "predict " + at("m.onnx") + " --input " + at("x.npy");
  const CommandResult r = octet(predict + " --labels " + at("l.npy"));
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.output, "accuracy: 50.00 % (1 of 2)\n");
  const CommandResult none = octet(predict);
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_EQ(none.failure, (Failure{"missing_value", "--output"}));
}

TEST_F(OctetFiles, NameTheMissingFolder) {
  EXPECT_EQ(refusal("convert zoo:lenet " + at("no/m.onnx")),
            (Failure{"file_not_found", (folder_ / "no/m.onnx").string()}));
}

TEST_F(OctetFiles, CannotSendControlSequencesToATerminal) {
  const auto x = input({3}, "x");
  io::save_model(Model(x, Dense({.units = 2, .name = "d\x1b[31m\xc2\x9b"})(x)),
                 folder_ / "m.h5");
  for (const std::string& command :
       {"inspect " + at("m.h5"), "inspect --json " + at("m.h5"),
        "plan " + at("m.h5"), "plan --explain " + at("m.h5"),
        "convert " + at("m.h5") + " " + at("out.onnx")}) {
    const CommandResult r = octet(command);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    for (const char* sequence : {"\x1b", "\x9b"}) {
      EXPECT_EQ(r.output.find(sequence), std::string::npos) << command;
    }
  }
}

TEST_F(OctetFiles, LoadWithinATimeLimit) {
  const std::string file = quoted(io::keras_golden("k2_functional.h5"));
  for (const std::string& command :
       {"inspect " + file, "plan " + file,
        "convert " + file + " " + at("out.onnx"),
        "predict " + file + " --input " + at("x.npy") + " --output " +
            at("y.npy")}) {
    EXPECT_EQ(refusal(command + " --time-limit 1e-6", "1e-06 s"),
              (Failure{"time_limit", "HDF5 file"}));
  }
  EXPECT_EQ(octet("inspect " + file + " --time-limit 100").exit_code, 0);
  EXPECT_EQ(octet("inspect " + file + " --time-limit 0").exit_code, 2);
  EXPECT_EQ(octet("inspect " + file + " --memory-limit 0").exit_code, 2);
}

TEST_F(OctetFiles, RunWithinLimits) {
  const auto run = [&](const char* nodes, const std::string& limit,
                       const char* fact) {
    io::save(io::model_of(fmt::format(
                 "g (float[N,3] x) => (float[N,A] y) {{\n{}\n}}", nodes)),
             folder_ / "costly.onnx");
    return refusal(
        fmt::format("predict {} --input {} --output {} {}", at("costly.onnx"),
                    at("x.npy"), at("y.npy"), limit),
        fact);
  };
  const char* huge =
      "n = Shape (x)\n"
      "k = Constant <value = int64[2] {1, 10000000}> ()\n"
      "s = Mul (n, k)\n"
      "y = ConstantOfShape (s)";
  EXPECT_EQ(run(huge, "--memory-limit 64", "64 MiB"),
            (Failure{"memory_limit", "node 'y' (ConstantOfShape)"}));
  const char* endless =
      "s = Constant <value = int64[2] {8192, 8192}> ()\n"
      "m = ConstantOfShape (s)\n"
      "p = MatMul (m, m)\n"
      "q = ReduceSum (p)\n"
      "y = Add (x, q)";
  EXPECT_EQ(run(endless, "--time-limit 0.5", "0.5 s"),
            (Failure{"time_limit", "node 'p' (MatMul)"}));
  // The results of all samples exceed the limit, those of a batch do not.
  io::write_npy(folder_ / "x.npy", Tensor::zeros({4, 3}));
  EXPECT_EQ(run("k = Constant <value = int64[2] {1, 1000000}> ()\n"
                "z = Constant <value = int64[1] {0}> ()\n"
                "o = Constant <value = int64[1] {1}> ()\n"
                "c = Slice (x, z, o, o)\n"
                "y = Expand (c, k)",
                "--memory-limit 9 --batch 1", "9 MiB"),
            (Failure{"memory_limit", (folder_ / "costly.onnx").string()}));
}

}  // namespace
}  // namespace octet
