// Files for target runtimes: uint8 activations of OpenVINO, inputs of
// polygraphy.
#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "../support.h"
#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OctetTargets : public ::testing::Test {
 protected:
  OctetTargets() {
    Tensor x({40, 28, 28, 1});
    Rng(1).fill_uniform(x, 0, 1);
    io::write_npy(folder_ / "x.npy", x);
  }

  CommandResult run(const std::string& command) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, command));
  }
  int64_t uint8_pairs() const {
    return std::ranges::count(io::inspect_onnx(folder_ / "int8.onnx").qdq_pairs,
                              "uint8", &io::OnnxQdqPair::type);
  }

  TempFolder folder_;
};

TEST_F(OctetTargets, QuantizesNonnegativeActivationsToUint8ForOpenvino) {
  const std::string lenet =
      "quantize zoo:lenet -o int8.onnx --method max --data x.npy ";
  ASSERT_EQ(run(lenet).exit_code, 0);
  EXPECT_EQ(uint8_pairs(), 0);
  const CommandResult r = run(lenet + "--target openvino");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_GT(uint8_pairs(), 0);
  const CommandResult lint = run("lint int8.onnx --target openvino");
  EXPECT_EQ(lint.exit_code, 0);
  EXPECT_THAT(lint.output, HasSubstr("0 errors, 0 warnings"));
  // TensorRT does not support uint8.
  EXPECT_NE(run("lint int8.onnx --target tensorrt10").exit_code, 0);
}

TEST_F(OctetTargets, PlacesConvolutionsBehindConcatForOpenvino) {
  const SymbolicTensor x = input({8, 8, 3}, "x");
  const auto conv = [](const SymbolicTensor& from) {
    return Conv2D({.filters = 4,
                   .kernel_size = {3, 3},
                   .padding = Padding::same,
                   .activation = "relu"})(from);
  };
  io::save_model(Model(x, conv(Concatenate()({conv(x), conv(x)}))),
                 folder_ / "net.h5");
  Tensor samples({8, 8, 8, 3});
  Rng(1).fill_uniform(samples, 0, 1);
  io::write_npy(folder_ / "s.npy", samples);
  const auto pairs = [&](const std::string& policy) {
    const CommandResult r =
        run("quantize net.h5 -o int8.onnx --method max --accept --data s.npy "
            "--target openvino " +
            policy);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    return io::inspect_onnx(folder_ / "int8.onnx").qdq_pairs.size();
  };
  EXPECT_EQ(pairs(""), pairs("--policy onnxruntime"));
  EXPECT_GT(pairs(""), pairs("--policy tensorrt"));
}

TEST_F(OctetTargets, RequantizesUint8FilesForTensorrt) {
  ASSERT_EQ(run("quantize zoo:lenet -o uint8.onnx --method max --data x.npy "
                "--target onnxruntime")
                .exit_code,
            0);
  const CommandResult refused =
      run("convert uint8.onnx -o int8.onnx --target tensorrt10");
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.output, HasSubstr("--symmetric-activations"));
  EXPECT_THAT(
      run("quantize uint8.onnx -o int8.onnx --data x.npy --layout nhwc").output,
      HasSubstr("octet quantize --drop-quantizers"));
  for (const char* command :
       {"convert uint8.onnx -o int8.onnx --target tensorrt10 "
        "--symmetric-activations",
        "quantize uint8.onnx -o int8.onnx --target tensorrt10 "
        "--drop-quantizers "
        "--data x.npy --layout nhwc"}) {
    const CommandResult r = run(command);
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(uint8_pairs(), 0);
    const CommandResult lint = run("lint int8.onnx --target tensorrt10");
    EXPECT_EQ(lint.exit_code, 0) << lint.output;
    EXPECT_THAT(lint.output, HasSubstr("0 errors"));
  }
  // The synonym of --symmetric-activations.
  const CommandResult other = run("convert zoo:lenet -o f.onnx --requantize");
  EXPECT_EQ(other.failure.subject, "--symmetric-activations");
  EXPECT_THAT(other.output, HasSubstr("applies to quantized ONNX files"));
}

TEST_F(OctetTargets, PassesGoldenInputsToPolygraphy) {
  ASSERT_EQ(run("quantize zoo:lenet -o int8.onnx --method max --golden --data "
                "x.npy")
                .exit_code,
            0);
  EXPECT_THAT(
      read_file(folder_ / "int8.commands.sh"),
      AllOf(HasSubstr("--data-loader-script \\\n  int8.golden/load_inputs.py"),
            Not(HasSubstr("random")), Not(HasSubstr("--input-shapes"))));
  const CommandResult loaded =
      run_venv_script("load_golden.py", folder_ / "int8.golden");
  if (loaded.exit_code == 77) GTEST_SKIP() << loaded.output;
  EXPECT_EQ(loaded.exit_code, 0) << loaded.output;
  EXPECT_EQ(loaded.output, "input\n");
}

TEST_F(OctetTargets, MatchesGoldenInputsToTheRangeOfTheFile) {
  // Images normalized like ImageNet have negative values.
  io::save_model(zoo::make("resnet8"), folder_ / "net.h5",
                 {.preprocess = "torch"});
  const CommandResult r = run("convert net.h5 net.onnx --golden");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Tensor x = io::read_npy(folder_ / "net.golden" / "input_0.npy");
  EXPECT_LT(std::ranges::min(x.f32()), -1);
  EXPECT_GT(std::ranges::max(x.f32()), 1);
}

}  // namespace
}  // namespace octet
