// .tflite files on the command line.
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/model_file.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TfliteCommand : public ::testing::Test {
 protected:
  void SetUp() override {
    io::save_model(zoo::make("lenet", {.seed = 3}), folder_ / "in.h5");
    Tensor x({40, 28, 28, 1});
    Rng(1).fill_uniform(x, 0, 1);
    io::write_npy(folder_ / "x.npy", x);
  }
  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, options));
  }
  /// Runs and returns the predictions.
  Tensor predictions(const std::string& file) const {
    const CommandResult r =
        run(fmt::format("predict {} --input x.npy --output y.npy", file));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    return io::read_npy(folder_ / "y.npy");
  }
  TempFolder folder_;
};

float largest_difference(const Tensor& a, const Tensor& b) {
  float largest = 0;
  for (size_t i = 0; i < static_cast<size_t>(a.size()); ++i) {
    largest = std::max(largest, std::abs(a.f32()[i] - b.f32()[i]));
  }
  return largest;
}

TEST_F(TfliteCommand, QuantizesAndRunsAFile) {
  const CommandResult r =
      run("quantize in.h5 -o int8.tflite --data x.npy --accept --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(r.json().at("operators").as_int(), 8);
  const Tensor expected = predictions("in.h5");
  const Tensor got = predictions("int8.tflite");
  EXPECT_LT(largest_difference(got, expected), 0.1f * absmax(expected));
  // A model again.
  ASSERT_EQ(run("convert int8.tflite -o again.tflite").exit_code, 0);
  EXPECT_EQ(largest_difference(predictions("again.tflite"), got), 0);
  EXPECT_THAT(run("inspect int8.tflite").output, HasSubstr("Conv2D"));
  EXPECT_THAT(run("plan in.h5 --policy tflite").output,
              HasSubstr("asymmetric"));
}

TEST_F(TfliteCommand, VerifiesFiles) {
  ASSERT_EQ(run("quantize in.h5 -o a.tflite --data x.npy --accept").exit_code,
            0);
  const CommandResult alone = run("verify a.tflite --input x.npy");
  EXPECT_EQ(alone.exit_code, 0) << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("tolerances for integer arithmetic"));
  const CommandResult r =
      run("verify a.tflite --input x.npy --reference in.h5 --min-agreement 0");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("tolerances for INT8 against float"));
  EXPECT_THAT(r.output, HasSubstr("relu1"));
  // Another network.
  io::save_model(zoo::make("lenet", {.seed = 4}), folder_ / "other.h5");
  EXPECT_EQ(run("verify a.tflite --input x.npy --reference other.h5").exit_code,
            1);
}

TEST_F(TfliteCommand, LintsFiles) {
  ASSERT_EQ(run("quantize in.h5 -o a.tflite --data x.npy --accept").exit_code,
            0);
  const CommandResult r = run("lint a.tflite");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("0 errors, 0 warnings"));
  EXPECT_THAT(r.output, HasSubstr("for tflite"));
  for (const char* options :
       {"--target tensorrt10", "--data x.npy", "--fix b.onnx"}) {
    const CommandResult rejected =
        run(fmt::format("lint a.tflite {}", options));
    EXPECT_EQ(rejected.exit_code, 1) << rejected.output;
    EXPECT_THAT(rejected.output, HasSubstr("M01 to M13"));
  }
  EXPECT_THAT(run("lint --rules").output, HasSubstr("M13"));
}

TEST_F(TfliteCommand, WritesActivationsOf16Bits) {
  const CommandResult r =
      run("quantize in.h5 -o a.tflite --data x.npy --bits 8,16 --accept");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(run("inspect a.tflite").output, HasSubstr("int16"));
  EXPECT_EQ(run("lint a.tflite").exit_code, 0);
  ASSERT_EQ(run("convert a.tflite -o b.tflite").exit_code, 0);
  const Tensor expected = predictions("in.h5");
  EXPECT_LT(largest_difference(predictions("a.tflite"), expected),
            0.03f * absmax(expected));
  EXPECT_EQ(run("verify a.tflite --input x.npy").exit_code, 0);
  EXPECT_EQ(run("compile a.tflite -o c --arithmetic fixed").exit_code, 0);
  EXPECT_THAT(run("compile a.tflite -o c").output,
              HasSubstr("--arithmetic fixed"));
  const CommandResult onnx =
      run("quantize in.h5 -o a.onnx --data x.npy --bits 8,16");
  EXPECT_EQ(onnx.exit_code, 1);
  EXPECT_THAT(onnx.output, HasSubstr("needs a .tflite output file"));
}

TEST_F(TfliteCommand, WritesOneScalePerDenseLayer) {
  const CommandResult r = run(
      "quantize in.h5 -o a.tflite --data x.npy --per-tensor-dense --accept");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(run("lint a.tflite").output, Not(HasSubstr("M12")));
  EXPECT_THAT(
      run("quantize in.h5 -o a.onnx --data x.npy --per-tensor-dense").output,
      HasSubstr("needs a .tflite output file"));
}

TEST_F(TfliteCommand, LearnsZeroPoints) {
  Tensor y({40}, DType::i64);
  for (size_t i = 0; i < 40; ++i) {
    y.data<int64_t>()[i] = static_cast<int64_t>(i % 10);
  }
  io::write_npy(folder_ / "y.npy", y);
  const std::string qat =
      "qat in.h5 --data x.npy --labels y.npy --epochs 1 --accept ";
  const CommandResult r = run(qat + "--scales learned-affine -o a.tflite");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(run("lint a.tflite").exit_code, 0);
  EXPECT_THAT(run(qat + "--scales learned-affine -o a.onnx").output,
              HasSubstr("or --scales learned"));
  EXPECT_THAT(run(qat + "--scales other -o a.tflite").output,
              HasSubstr("--scales"));
}

TEST_F(TfliteCommand, ConvertsFloatModels) {
  ASSERT_EQ(run("convert in.h5 -o float.tflite").exit_code, 0);
  EXPECT_LT(
      largest_difference(predictions("float.tflite"), predictions("in.h5")),
      1e-5f);
}

TEST_F(TfliteCommand, TakesTheTargetAndTheTypeOfInputs) {
  const CommandResult r =
      run("quantize in.h5 -o f.tflite --data x.npy --accept --target tflite "
          "--io float32");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("10 operators"));
}

TEST_F(TfliteCommand, RejectsOptionsOfTheOtherFormat) {
  for (const char* options :
       {"-o o.tflite --opset 17", "-o o.tflite --target tensorrt10",
        "-o o.onnx --io int8", "-o o.onnx --target tflite",
        "-o o.tflite --io int4"}) {
    const CommandResult r = run(fmt::format("convert in.h5 {}", options));
    EXPECT_EQ(r.exit_code, 1) << options << "\n" << r.output;
    EXPECT_THAT(r.output, HasSubstr("--"));
  }
}

TEST_F(TfliteCommand, NamesLayersWithoutOperators) {
  const CommandResult r = run("convert zoo:vit_tiny -o o.tflite");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.output, HasSubstr("LayerNormalization"));
}

}  // namespace
}  // namespace octet
