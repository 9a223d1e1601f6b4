// The `octet` program on ONNX files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/octet.h>

#include "../io/onnx_models.h"
#include "../support.h"
#include "octet_command.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A convolution and a Dense layer, with H != W != C.
Model small() {
  const auto image = input({6, 4, 3}, "image");
  auto x = Conv2D({.filters = 5, .padding = Padding::same})(image);
  x = Flatten()(ReLU()(x));
  return Model(image, Dense({.units = 2})(x));
}

class PredictOnnx : public ::testing::Test {
 protected:
  /// Runs `octet predict` on x; y_ is its output.
  CommandResult predict(const std::string& model, const Tensor& x,
                        const std::string& options = "") {
    io::write_npy(folder_ / "x.npy", x);
    const CommandResult result = run_octet(fmt::format(
        "predict {} --input {} --output {} {}", quoted(folder_ / model),
        quoted(folder_ / "x.npy"), quoted(folder_ / "y.npy"), options));
    if (result.exit_code == 0) y_ = io::read_npy(folder_ / "y.npy");
    return result;
  }
  /// Expects exit code 1 and a message with the fact.
  Failure refusal(const std::string& model, const Tensor& x,
                  const std::string& options = "",
                  const std::string& fact = "") {
    const CommandResult result = predict(model, x, options);
    EXPECT_EQ(result.exit_code, 1) << result.output;
    EXPECT_THAT(result.failure.message, HasSubstr(fact));
    return result.failure;
  }
  void save(const std::string& name, const std::string& graph) {
    io::save(io::model_of(graph), folder_ / name);
  }

  TempFolder folder_;
  Tensor y_;
};

TEST_F(PredictOnnx, MatchesTheExportedModel) {
  const Model model = small();
  io::export_onnx(model, folder_ / "m.onnx");
  Tensor x({5, 6, 4, 3});
  Rng(1).fill_normal(x, 0, 1);
  const Tensor expected = model.predict(x);
  for (const char* options : {"", "--batch 2"}) {
    const CommandResult r =
        predict("m.onnx", x.transposed({0, 3, 1, 2}), options);
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_THAT(r.output, HasSubstr("y.npy: [5,2]"));
    ASSERT_EQ(y_.shape(), expected.shape());
    for (size_t i = 0; i < expected.f32().size(); ++i) {
      EXPECT_NEAR(y_.f32()[i], expected.f32()[i], 1e-5f);
    }
  }
}

TEST_F(PredictOnnx, TakesIndicesOfAModelAndOfItsFile) {
  const auto ids = input({3}, "ids");
  const Model model(ids, Embedding({.input_dim = 5, .output_dim = 2})(ids));
  io::save_model(model, folder_ / "m.h5");
  io::export_onnx(model, folder_ / "m.onnx");
  const Tensor x = Tensor::of<int64_t>({2, 3}, {0, 4, 2, 1, 1, 3});
  const Tensor expected = model.predict(x);
  for (const char* file : {"m.h5", "m.onnx"}) {
    const CommandResult r = predict(file, x);
    ASSERT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(bits(y_), bits(expected)) << file;
    const Tensor bad = Tensor::of<int64_t>({1, 3}, {0, 5, 0});
    EXPECT_EQ(predict(file, bad).exit_code, 1) << file;
  }
}

TEST_F(PredictOnnx, RecognizesSamplesOfTheOtherLayout) {
  const Model model = small();
  io::export_onnx(model, folder_ / "nchw.onnx");
  Tensor x({5, 6, 4, 3});
  Rng(1).fill_normal(x, 0, 1);
  const Tensor expected = model.predict(x);
  ASSERT_EQ(predict("nchw.onnx", x).exit_code, 0);
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    EXPECT_NEAR(y_.f32()[i], expected.f32()[i], 1e-5f);
  }
  for (const char* sizes : {"N,6,4,3", "N,H,W,3"}) {
    save("nhwc.onnx", fmt::format("g (float[{0}] x) => (float[{0}] y) {{\n"
                                  "  y = Neg (x)\n}}",
                                  sizes));
    ASSERT_EQ(predict("nhwc.onnx", x.transposed({0, 3, 1, 2})).exit_code, 0);
    ASSERT_EQ(y_.shape(), x.shape());
    EXPECT_EQ(y_.f32()[7], -x.f32()[7]);
  }
  save("open.onnx",
       "g (float[N,3,H,W] x) => (float[N,3,H,W] y) {\n  y = Neg (x)\n}");
  for (const Tensor& given : {x, x.transposed({0, 3, 1, 2})}) {
    ASSERT_EQ(predict("open.onnx", given).exit_code, 0);
    ASSERT_EQ(y_.shape(), Shape({5, 3, 6, 4}));
    EXPECT_EQ(y_.f32()[1], -x.f32()[3]);
  }
  EXPECT_EQ(refusal("nchw.onnx", Tensor::zeros({3, 6, 4}), "", "x[None]"),
            (Failure{"shape_mismatch", (folder_ / "x.npy").string()}));
}

TEST_F(PredictOnnx, ReportsTheLayoutOfACube) {
  save("cube.onnx",
       "g (float[N,3,3,3] x) => (float[N,3,3,3] y) {\n  y = Neg (x)\n}");
  Tensor x({2, 3, 3, 3});
  Rng(1).fill_normal(x, 0, 1);
  const CommandResult own = predict("cube.onnx", x);
  ASSERT_EQ(own.exit_code, 0) << own.output;
  EXPECT_THAT(own.warned(), ElementsAre("input 'x'"));
  EXPECT_EQ(y_.f32()[1], -x.f32()[1]);
  const CommandResult last = predict("cube.onnx", x, "--layout nhwc");
  ASSERT_EQ(last.exit_code, 0) << last.output;
  EXPECT_THAT(last.warned(), IsEmpty());
  EXPECT_EQ(y_.f32()[1], -x.f32()[3]);
  EXPECT_EQ(refusal("cube.onnx", x, "--layout chw", "'chw'"),
            (Failure{"invalid_value", "--layout"}));
}

TEST_F(PredictOnnx, HonorsAFixedBatchSize) {
  save("m.onnx", "g (float[2,3] x) => (float[2,3] y) {\n  y = Neg (x)\n}");
  Tensor x({6, 3});
  Rng(1).fill_uniform(x, -1, 1);
  for (const char* options : {"", "--batch 2"}) {
    const CommandResult r = predict("m.onnx", x, options);
    ASSERT_EQ(r.exit_code, 0) << r.output;
    ASSERT_EQ(y_.shape(), x.shape());
    for (size_t i = 0; i < x.f32().size(); ++i) {
      EXPECT_EQ(y_.f32()[i], -x.f32()[i]);
    }
  }
  EXPECT_EQ(refusal("m.onnx", Tensor::zeros({5, 3}), "", "5"),
            (Failure{"count_mismatch", (folder_ / "x.npy").string()}));
  EXPECT_EQ(refusal("m.onnx", x, "--batch 3", "3"),
            (Failure{"conflicting_options", "--batch"}));
}

TEST_F(PredictOnnx, UsesTheTypesOfTheGraph) {
  save("m.onnx",
       "g (uint8[N,2] x) => (int64[N,2] y) {\n  y = Cast <to = 7> (x)\n}");
  const CommandResult r =
      predict("m.onnx", Tensor::of<uint8_t>({2, 2}, {0, 1, 200, 255}));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(y_.data<int64_t>(), ElementsAre(0, 1, 200, 255));
  EXPECT_EQ(refusal("m.onnx", Tensor::zeros({2, 2}), "", "uint8"),
            (Failure{"dtype_mismatch", (folder_ / "x.npy").string()}));
}

TEST_F(PredictOnnx, DetectsAFileByItsContents) {
  io::export_onnx(small(), folder_ / "model");
  EXPECT_EQ(predict("model", Tensor::zeros({1, 3, 6, 4})).exit_code, 0);
}

TEST_F(PredictOnnx, AcceptsSeveralInputsAndOutputsByName) {
  save("two.onnx",
       "g (float[N,3] a, float[N,3] b) => (float[N,3] less, float[N,3] more) "
       "{\n  less = Sub (a, b)\n  more = Add (a, b)\n}");
  io::write_npy(folder_ / "a.npy",
                Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  io::write_npy(folder_ / "b.npy",
                Tensor::of<float>({2, 3}, {10, 20, 30, 40, 50, 60}));
  io::write_npy(folder_ / "l.npy", Tensor::of<int64_t>({2}, {0, 2}));
  io::write_npy(folder_ / "one.npy", Tensor::zeros({1, 3}));
  const auto file = [&](const char* name) { return quoted(folder_ / name); };
  const auto run = [&](const std::string& options) {
    return run_command(fmt::format("{}/octet predict {} {} 2>&1", OCTET_BIN,
                                   file("two.onnx"), options));
  };
  const std::string b_first =
      fmt::format("--input b={} --input a={}", file("b.npy"), file("a.npy"));
  const CommandResult r = run(fmt::format(
      "{} --output less={} --output more={} --labels less={} --batch 1",
      b_first, file("less.npy"), file("more.npy"), file("l.npy")));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("accuracy of 'less': 50.00 % (1 of 2)"));
  const Tensor less = io::read_npy(folder_ / "less.npy");
  const Tensor more = io::read_npy(folder_ / "more.npy");
  EXPECT_THAT(less.data<float>(), ElementsAre(-9, -18, -27, -36, -45, -54));
  EXPECT_THAT(more.data<float>(), ElementsAre(11, 22, 33, 44, 55, 66));

  const std::string more_out = " --output more=" + file("more.npy");
  EXPECT_EQ(run("--input a=" + file("a.npy") + more_out).failure,
            (Failure{"missing_value", "--input"}));
  EXPECT_EQ(run("--input " + file("a.npy") + more_out).failure,
            (Failure{"unknown_name", "--input"}));
  const Failure typo = run(b_first + " --output mroe=" + file("y.npy")).failure;
  EXPECT_EQ(typo, (Failure{"unknown_name", "--output"}));
  EXPECT_THAT(typo.message, HasSubstr("'more'"));
  EXPECT_EQ(run(b_first + " --input a=" + file("b.npy") + more_out).failure,
            (Failure{"duplicate_name", "--input"}));
  EXPECT_EQ(run(fmt::format("--input a={} --input b={}{}", file("a.npy"),
                            file("one.npy"), more_out))
                .failure,
            (Failure{"count_mismatch", (folder_ / "one.npy").string()}));
  EXPECT_EQ(run(fmt::format("{} --output less={} --output more={}", b_first,
                            file("y.npy"), file("y.npy")))
                .failure,
            (Failure{"duplicate_name", "--output"}));
  EXPECT_EQ(run(b_first + " --output more=" + file("a.npy")).failure,
            (Failure{"conflicting_options", "--output"}));
}

// Without a common batch axis, a file runs on its inputs as they are.
TEST_F(PredictOnnx, RunsInputsOfAnyShape) {
  save("m.onnx",
       "g (float[3,2] a, float[1,2] b, float s) => (float[4,2] y) {\n"
       "  c = Concat <axis = 0> (a, b)\n"
       "  y = Mul (c, s)\n"
       "}");
  io::write_npy(folder_ / "a.npy",
                Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  io::write_npy(folder_ / "b.npy", Tensor::of<float>({1, 2}, {7, 8}));
  io::write_npy(folder_ / "s.npy", Tensor::scalar(2));
  const auto run = [&](const std::string& a) {
    return run_octet(fmt::format(
        "predict {0}/m.onnx --input b={0}/b.npy --input s={0}/s.npy --input "
        "a={0}/{1} --output {0}/y.npy",
        folder_.path().string(), a));
  };
  const CommandResult r = run("a.npy");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Tensor y = io::read_npy(folder_ / "y.npy");
  EXPECT_EQ(y.shape(), (Shape{4, 2}));
  EXPECT_THAT(y.f32(), ElementsAre(2, 4, 6, 8, 10, 12, 14, 16));
  EXPECT_EQ(run("b.npy").failure,
            (Failure{"shape_mismatch", (folder_ / "b.npy").string()}));
}

TEST_F(PredictOnnx, RunsVectorsAndFilesWithoutInputs) {
  save("v.onnx", "g (int32[4] x) => (int32[4] y) {\n  y = Neg (x)\n}");
  ASSERT_EQ(predict("v.onnx", Tensor::of<int32_t>({4}, {1, 2, 3, 4})).exit_code,
            0);
  EXPECT_THAT(y_.data<int32_t>(), ElementsAre(-1, -2, -3, -4));
  // Eight entries are no two samples.
  EXPECT_EQ(refusal("v.onnx", Tensor::zeros({8}, DType::i32), "", "[4]"),
            (Failure{"shape_mismatch", (folder_ / "x.npy").string()}));
  save("none.onnx",
       "g () => (float[2] y) {\n"
       "  y = Constant <value = float[2] {1, 2}> ()\n"
       "}");
  const std::string files =
      fmt::format("{0}/none.onnx --output {0}/y.npy", folder_.path().string());
  ASSERT_EQ(run_octet("predict " + files).exit_code, 0);
  const Tensor y = io::read_npy(folder_ / "y.npy");
  EXPECT_THAT(y.f32(), ElementsAre(1, 2));
  const CommandResult missing = run_octet(fmt::format(
      "predict {0}/v.onnx --output {0}/y.npy", folder_.path().string()));
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_EQ(missing.failure, (Failure{"missing_value", "--input"}));
}

// Layers have no input 'unused', of which the axis order is ambiguous.
TEST_F(PredictOnnx, RunsFilesWithInputsThatNoNodeConsumes) {
  save("unused.onnx",
       "g (float[1,5,5] unused, float[1,5,5] x) => (float[1,5,5] y) {\n"
       "  y = Neg (x)\n"
       "}");
  io::write_npy(folder_ / "x.npy", Tensor::full({1, 5, 5}, 2));
  const CommandResult result = run_octet(fmt::format(
      "predict {0}/unused.onnx --input unused={0}/x.npy --input x={0}/x.npy "
      "--output {0}/y.npy",
      folder_.path().string()));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  // Each about its axis order only.
  EXPECT_THAT(result.warned(), ElementsAre("input 'unused'", "input 'x'"));
  const Tensor y = io::read_npy(folder_ / "y.npy");
  EXPECT_EQ(y.f32()[0], -2);
}

// Before IR version 4, initializers must be inputs; ONNX Runtime accepts
// others.
TEST_F(PredictOnnx, RunsOldFilesWhoseInitializersAreNoInputs) {
  onnx::ModelProto model = io::model_of(
      "g (float[1,4] x) => (float[2,2] y)\n"
      "<int64[2] s = {2, 2}>\n"
      "{\n  y = Reshape (x, s)\n}");
  model.set_ir_version(3);
  io::save(model, folder_ / "old.onnx");
  EXPECT_EQ(predict("old.onnx", Tensor::zeros({1, 4})).exit_code, 0);
}

// Batches of 16 would compute other means and cumulative sums.
TEST_F(PredictOnnx, RunsDependentSamplesAtOnce) {
  save("m.onnx",
       "g (float[N,1] x) => (float[N,1] y) {\n"
       "  m = ReduceMean <axes = [0]> (x)\n"
       "  y = Sub (x, m)\n"
       "}");
  Tensor x({33, 1});
  for (int64_t i = 0; i < 33; ++i) x.f32()[static_cast<size_t>(i)] = float(i);
  const CommandResult r = predict("m.onnx", x);
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.warned(), ElementsAre((folder_ / "m.onnx").string()));
  EXPECT_EQ(y_.f32()[0], -16);
  EXPECT_EQ(y_.f32()[32], 16);
  ASSERT_EQ(predict("m.onnx", x, "--batch 11").exit_code, 0);
  EXPECT_EQ(y_.f32()[0], -5);
}

TEST_F(PredictOnnx, CastsDoublesAtTheBorder) {
  save("m.onnx",
       "g (double[N,2] x) => (double[N,2] y) {\n"
       "  f = Cast <to = 1> (x)\n"
       "  n = Neg (f)\n"
       "  y = Cast <to = 11> (n)\n"
       "}");
  ASSERT_EQ(predict("m.onnx", Tensor::of<float>({1, 2}, {0.1f, 2})).exit_code,
            0);
  EXPECT_THAT(y_.f32(), ElementsAre(-0.1f, -2));
  // float32 would round the sum.
  save("sum.onnx", "g (double[N] x) => (double[N] y) {\n  y = Add (x, x)\n}");
  EXPECT_EQ(refusal("sum.onnx", Tensor::zeros({1}), "", "float64"),
            (Failure{"unsupported_type", "ONNX model"}));
}

TEST_F(PredictOnnx, NamesTheFileAtFault) {
  const Tensor x = Tensor::zeros({1, 3});
  write_file(folder_ / "text.onnx", "this is no model");
  EXPECT_EQ(refusal("text.onnx", x, "", "text.onnx"),
            (Failure{"unsupported_format", "file"}));
  write_file(folder_ / "text", "this is no model");
  EXPECT_EQ(refusal("text", x),
            (Failure{"unsupported_format", (folder_ / "text").string()}));
  EXPECT_EQ(refusal("missing.onnx", x),
            (Failure{"file_not_found", (folder_ / "missing.onnx").string()}));
  save("det.onnx", "g (float[3,3] x) => (float y) {\n  y = Det (x)\n}");
  EXPECT_EQ(refusal("det.onnx", x, "", "Det (node 'y')"),
            (Failure{"unsupported_operator", "ONNX model"}));
  save("sum.onnx",
       "g (float[N,3] x) => (float y) {\n"
       "  y = ReduceMean <keepdims = 0> (x)\n"
       "}");
  // All samples at once have a valid result, batches do not.
  const Tensor two = Tensor::zeros({2, 3});
  EXPECT_EQ(refusal("sum.onnx", two, "--batch 1", "--batch 2"),
            (Failure{"unsupported_model", "predict"}));
  EXPECT_EQ(predict("sum.onnx", two).exit_code, 0);
  EXPECT_EQ(y_.shape(), Shape{});
}

TEST_F(PredictOnnx, ReadsHalvesAsFloats) {
  save("m.onnx", "g (float16[N,2] x) => (float16[N,2] y) {\n  y = Neg (x)\n}");
  EXPECT_EQ(predict("m.onnx", Tensor::of<float>({1, 2}, {0.1f, 2})).exit_code,
            0);
  // The nearest float16 to 0.1 is 1638 / 2^14.
  EXPECT_THAT(y_.f32(), ElementsAre(-1638 * 0x1p-14f, -2));
}

TEST_F(PredictOnnx, NamesTheNodeAtFault) {
  save("m.onnx",
       "g (float[N,3] x) => (float[M,2] y) {\n"
       "  s = Constant <value = int64[2] {5, 2}> ()\n"
       "  y = Reshape (x, s)\n"
       "}");
  EXPECT_EQ(refusal("m.onnx", Tensor::zeros({1, 3}), "", "m.onnx"),
            (Failure{"invalid_graph", "node 'y' (Reshape)"}));
}

TEST_F(PredictOnnx, IsImportedByOtherCommands) {
  io::export_onnx(small(), folder_ / "m.onnx");
  const std::string file = quoted(folder_ / "m.onnx");
  const CommandResult plan = run_octet("plan --json " + file);
  EXPECT_EQ(plan.exit_code, 0) << plan.output;
  EXPECT_EQ(plan.json().at("pairs").at("weights").as_int(), 2);
  const CommandResult converted =
      run_octet("convert " + file + " " + quoted(folder_ / "n.onnx"));
  EXPECT_EQ(converted.exit_code, 0) << converted.output;
  EXPECT_EQ(io::inspect_onnx(folder_ / "n.onnx").parameters,
            io::inspect_onnx(folder_ / "m.onnx").parameters);
  const CommandResult layers = run_octet("inspect --json --layers " + file);
  EXPECT_EQ(layers.exit_code, 0) << layers.output;
  EXPECT_EQ(layers.json().at("input"), Config(Config::List{"N", 6, 4, 3}));
  // Without --layers: its nodes.
  const Config nodes = run_octet("inspect --json " + file).json();
  EXPECT_EQ(nodes.at("inputs").as_list()[0].at("shape"),
            Config(Config::List{"N", 3, 6, 4}));
}

TEST_F(PredictOnnx, OtherCommandsAcceptDynamicSizes) {
  save("m.onnx",
       "g (float[N,3,H,W] x) => (float[N,3,A,B] y) {\n"
       "  y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x)\n"
       "}");
  const std::string file = quoted(folder_ / "m.onnx");
  EXPECT_EQ(run_octet("plan " + file).failure,
            (Failure{"unsupported_model", "input 'x'"}));
  const std::string out = quoted(folder_ / "n.onnx");
  EXPECT_EQ(run_octet("convert " + file + " " + out + " --input-shape 8,6,3")
                .exit_code,
            0);
  EXPECT_EQ(
      io::to_string(io::inspect_onnx(folder_ / "n.onnx").outputs[0].shape),
      "[N,3,4,3]");
  for (const char* wrong : {"8,6", "8,,3", "a", "8,6,3,", "0,6,3"}) {
    const CommandResult r =
        run_octet(fmt::format("plan {} --input-shape {}", file, wrong));
    EXPECT_EQ(r.exit_code, 1) << wrong;
    const bool parsed = std::string_view(wrong) == "8,6";
    EXPECT_EQ(r.failure, (Failure{parsed ? "shape_mismatch" : "invalid_value",
                                  "--input-shape"}))
        << wrong;
  }
  EXPECT_EQ(run_octet("plan zoo:lenet --input-shape 8,6,3").failure,
            (Failure{"conflicting_options", "--input-shape"}));
}

TEST_F(PredictOnnx, OtherCommandsNameNodesWithoutALayer) {
  save("m.onnx",
       "g (float[N,3] x) => (float[N,3] y, float[N,3] a) {\n"
       "  a = Atan (x)\n"
       "  y = Relu (x)\n"
       "}");
  const CommandResult r = run_octet("plan " + quoted(folder_ / "m.onnx"));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_EQ(r.failure, (Failure{"unsupported_operator", "node 'a' (Atan)"}));
}

}  // namespace
}  // namespace octet
