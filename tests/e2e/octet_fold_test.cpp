// Tests of `octet fold`, `octet sparsify` and `octet doctor`.
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class OctetFold : public ::testing::Test {
 protected:
  CommandResult run(const std::string& options) const {
    return run_command(fmt::format("cd {} && {}/octet {} 2>&1",
                                   quoted(folder_.path()), OCTET_BIN, options));
  }
  TempFolder folder_;
};

// `octet predict` runs the ONNX file on the reference executor, which shares no
// kernels with the layers.
TEST_F(OctetFold, KeepsTheOutputsOfTheModel) {
  const Model model = zoo::make("resnet8", {.classes = 4, .seed = 3});
  io::save_model(model, folder_ / "in.h5", {.classes = {"a", "b", "c", "d"}});
  Tensor x({2, 32, 32, 3});
  Rng(1).fill_uniform(x, 0, 1);
  io::write_npy(folder_ / "nhwc.npy", x);
  io::write_npy(folder_ / "nchw.npy", x.transposed({0, 3, 1, 2}));
  const Tensor y = model.predict(x);
  for (const bool onnx : {false, true}) {
    const std::string out = onnx ? "out.onnx" : "out.h5";
    const CommandResult r = run("fold in.h5 --json -o " + out);
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_FALSE(r.json().at("folds").as_list().empty());
    EXPECT_EQ(io::class_names(folder_ / out).size(), 4u);
    EXPECT_THAT(run("inspect " + out).output,
                Not(HasSubstr("BatchNormalization")));
    ASSERT_EQ(run(fmt::format("predict {} --input {} --output y.npy", out,
                              onnx ? "nchw.npy" : "nhwc.npy"))
                  .exit_code,
              0);
    const Tensor found = io::read_npy(folder_ / "y.npy");
    ASSERT_EQ(found.shape(), y.shape());
    for (size_t i = 0; i < y.f32().size(); ++i) {
      EXPECT_NEAR(found.f32()[i], y.f32()[i], 1e-4) << out;
    }
  }
}

TEST_F(OctetFold, IsConvertWithAnOption) {
  io::save_model(zoo::make("resnet8", {.seed = 3}), folder_ / "in.h5");
  ASSERT_EQ(run("fold in.h5 -o folded.onnx").exit_code, 0);
  ASSERT_EQ(run("convert in.h5 -o converted.onnx --fold").exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "folded.onnx"),
            read_file(folder_ / "converted.onnx"));
}

// A model for training or quantization, with the order of the ONNX file's axes.
TEST_F(OctetFold, ConvertWritesAModelOfAnOnnxFile) {
  const Model model = zoo::make("lenet", {.seed = 3});
  io::save_model(model, folder_ / "in.h5");
  ASSERT_EQ(run("convert in.h5 -o there.onnx").exit_code, 0);
  const CommandResult back = run("convert there.onnx -o back.h5 --json");
  ASSERT_EQ(back.exit_code, 0) << back.output;
  EXPECT_GT(back.json().at("layers").as_int(), 3);
  const Model read = io::load_model(folder_ / "back.h5");
  Tensor x({2, 28, 28, 1});
  Rng(1).fill_uniform(x, 0, 1);
  const Tensor y = model.predict(x);
  const Tensor found = read.predict(x);
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(found.f32()[i], y.f32()[i], 1e-5);
  }
  EXPECT_EQ(run("convert there.onnx -o back.h5 --opset 17").failure,
            (Failure{"conflicting_options", "--opset"}));
}

TEST_F(OctetFold, ReportsNothingToFoldAndRejectsItsInput) {
  io::save_model(zoo::make("lenet"), folder_ / "in.h5");
  const Config folded = run("fold in.h5 -o out.h5 --json").json();
  EXPECT_TRUE(folded.at("folds").as_list().empty());
  const CommandResult same = run("fold in.h5 -o in.h5");
  EXPECT_EQ(same.exit_code, 1);
  EXPECT_EQ(same.failure, (Failure{"conflicting_options", "--output"}));
  EXPECT_EQ(run("fold in.h5 -o out.txt").exit_code, 2);
}

// The activations are uint8, which the default target rejects because TensorRT
// does not support it.
TEST_F(OctetFold, ExportsForTheGivenTarget) {
  Model model = quant::quantize_model(
      zoo::make("resnet8", {.classes = 4, .seed = 3}),
      {.policy = quant::Policy::toolkit, .activation = {.is_signed = false}});
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(Tensor::full({2, 32, 32, 3}, 0.5f));
  });
  io::save_model(model, folder_ / "in.h5");
  const CommandResult any = run("fold in.h5 -o out.onnx");
  EXPECT_EQ(any.exit_code, 1);
  EXPECT_EQ(any.failure,
            (Failure{"unsupported_type", "quantizer 'activation'"}));
  EXPECT_THAT(any.failure.message, HasSubstr("onnxruntime"));
  const CommandResult named =
      run("fold in.h5 -o out.onnx --target onnxruntime");
  EXPECT_EQ(named.exit_code, 0) << named.output;
  const CommandResult other = run("fold in.h5 -o out.h5 --target onnxruntime");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_EQ(other.failure, (Failure{"conflicting_options", "--target"}));
}

TEST_F(OctetFold, SparsifyPrunesTheWrittenModel) {
  io::save_model(zoo::make("lenet", {.seed = 3}), folder_ / "in.h5");
  const CommandResult r = run("sparsify in.h5 -o out.h5 --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  int64_t pruned = 0;
  for (const Config& layer : r.json().at("sparsity").as_list()) {
    if (!layer.at("skipped").as_string().empty()) continue;
    EXPECT_EQ(2 * layer.at("zeros").as_int(), layer.at("size").as_int());
    pruned += layer.at("zeros").as_int();
  }
  int64_t written = 0;
  for (const auto& kernel :
       quant::kernel_zeros(io::load_model(folder_ / "out.h5"))) {
    written += kernel.zeros;
  }
  EXPECT_GT(pruned, 0);
  EXPECT_EQ(written, pruned);
  // A pruned model is unchanged.
  ASSERT_EQ(run("sparsify out.h5 -o again.onnx").exit_code, 0);
  ASSERT_EQ(run("convert out.h5 -o out.onnx").exit_code, 0);
  EXPECT_EQ(read_file(folder_ / "again.onnx"), read_file(folder_ / "out.onnx"));
}

TEST_F(OctetFold, SparsifyRejectsPatternsAndWritesNoFile) {
  io::save_model(zoo::make("lenet"), folder_ / "in.h5");
  for (const char* pattern : {"3:2", "0:4", "4:4", "2", "2:4:1", "a:b", "2:"}) {
    EXPECT_EQ(run(fmt::format("sparsify in.h5 -o out.h5 --pattern {}", pattern))
                  .exit_code,
              1)
        << pattern;
  }
  // No layer has a multiple of 37 inputs.
  EXPECT_EQ(run("sparsify in.h5 -o out.h5 --pattern 5:37").exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.h5"));
}

TEST_F(OctetFold, DoctorFindsThisBuild) {
  const CommandResult r = run("doctor");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, AllOf(HasSubstr("instruction set"),
                              HasSubstr("libhdf5"), HasSubstr("libonnx")));
  EXPECT_EQ(io::from_json(run("doctor --json").output)
                .as_list()
                .front()
                .at("what")
                .as_string(),
            "octet");
  // The command fails if a requirement is not met: no file can be created in
  // /proc.
  const CommandResult full = run("doctor --json >/dev/null; TMPDIR=/proc " +
                                 std::string(OCTET_BIN) + "/octet doctor");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_EQ(full.failure, (Failure{"cannot_write", "model files"}));
}

}  // namespace
}  // namespace octet
