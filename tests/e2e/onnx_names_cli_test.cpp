// `octet` on ONNX files with several inputs and outputs, by their names.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/octet.h>

#include "../io/onnx_models.h"
#include "octet_command.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

class OnnxNames : public ::testing::Test {
 protected:
  CommandResult run(const std::string& arguments) {
    return run_command(fmt::format(
        "cd {} && {}/octet {}", quoted(folder_.path()), OCTET_BIN, arguments));
  }
  void save(const std::string& name, const std::string& graph) {
    io::save(io::model_of(graph), folder_ / name);
  }

  TempFolder folder_;
};

// TensorFlow calls its outputs Identity; the layers have other names.
TEST_F(OnnxNames, AreThoseOfOutputs) {
  save("m.onnx",
       "g (float[N,3] x) => (float[N,3] Identity, float[N,3] Identity_1) {\n"
       "  Identity = Softmax (x)\n"
       "  Identity_1 = Tanh (x)\n"
       "}");
  io::write_npy(folder_ / "x.npy",
                Tensor::of<float>({2, 3}, {1, 2, 3, 6, 5, 4}));
  io::write_npy(folder_ / "l.npy", Tensor::of<int64_t>({2}, {2, 1}));
  const CommandResult r =
      run("evaluate m.onnx --data x=x.npy --labels Identity=l.npy --loss "
          "Identity=cross_entropy");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("50.00 %"));
  const Failure unknown =
      run("evaluate m.onnx --data x.npy --labels none=l.npy").failure;
  EXPECT_EQ(unknown, (Failure{"unknown_name", "--labels"}));
  EXPECT_THAT(unknown.message, HasSubstr("'Identity_1'"));
  // An Octet file keeps them.
  ASSERT_EQ(run("fold m.onnx -o m.h5").exit_code, 0);
  EXPECT_EQ(run("evaluate m.h5 --data x.npy --labels Identity=l.npy").exit_code,
            0);
}

TEST_F(OnnxNames, SelectInputShapes) {
  save("m.onnx",
       "g (float[N,3,H,W] a, float[N,L] b) => (float[N,3,H,W] y, float[N,L] z) "
       "{\n  y = Neg (a)\n  z = Neg (b)\n}");
  ASSERT_EQ(run("convert m.onnx out.onnx --input-shape b=7 --input-shape "
                "a=4,5,3")
                .exit_code,
            0);
  const io::OnnxSummary out = io::inspect_onnx(folder_ / "out.onnx");
  EXPECT_EQ(io::to_string(out.inputs[0].shape), "[N,3,4,5]");
  EXPECT_EQ(io::to_string(out.inputs[1].shape), "[N,7]");
  const Failure unknown =
      run("convert m.onnx out.onnx --input-shape c=4,5,3").failure;
  EXPECT_EQ(unknown, (Failure{"unknown_name", "--input-shape"}));
  EXPECT_EQ(run("convert m.onnx out.onnx --input-shape a=4,5,3").failure,
            (Failure{"unsupported_model", "input 'b'"}));
}

}  // namespace
}  // namespace octet
