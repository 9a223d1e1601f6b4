// Forecast of precisions and kernels, rules A and D, and the report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/json.h>

#include "../facts.h"
#include "lint_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

const std::string kEnds = "(float[N,4,8,8] x) => (float[N,4,8,8] y)";

LayerForecast layer_of(const LintReport& report, const std::string& node) {
  const auto found =
      std::ranges::find(report.layers, node, &LayerForecast::node);
  return found == report.layers.end() ? LayerForecast() : *found;
}

/// x -> INT8 Conv c -> BN -> Add of x -> Relu r -> `end`.
onnx::ModelProto block(const std::string& other, const std::string& end) {
  return lint_model(
      kEnds, pair("x", "xd") + weight_pairs("v") +
                 "c = Conv <pads = [1,1,1,1]> (xd, vd)\n"
                 "n = BatchNormalization (c, b, b, b, s4)\n a = Add (n, " +
                 other + ")\n r = Relu (a)\n" + end);
}

const std::string kNextLayer =
    pair("r", "rd", "s1") + "y = Conv <pads = [1,1,1,1]> (rd, vd)";

TEST(LintForecast, AResidualBlockIsOneKernel) {
  const LintReport report = lint_of(block("xd", kNextLayer));
  const LayerForecast conv = layer_of(report, "c");
  EXPECT_EQ(conv.precision, LayerPrecision::int8);
  EXPECT_EQ(conv.group, "Conv + BatchNormalization + Add + Relu");
  EXPECT_EQ(layer_of(report, "a").precision, LayerPrecision::int8);
  EXPECT_EQ(layer_of(report, "a").group, conv.group);
  const LayerForecast last = layer_of(report, "y");
  EXPECT_EQ(last.precision, LayerPrecision::int8_to_float);
  EXPECT_THAT(last.reason, HasSubstr("output"));
}

// Expected: TensorRT-RTX 1.7.1's engine.
TEST(LintForecast, AnActivationBeforeAnAddBelongsToTheKernel) {
  const auto report = lint_of(lint_model(
      kEnds, pair("x", "xd") + weight_pairs("v") +
                 "c = Conv <pads = [1,1,1,1]> (xd, vd)\n g = Sigmoid (c)\n"
                 "s = Mul (c, g)\n a = Add (xd, s)\n" +
                 pair("a", "y", "s1")));
  EXPECT_EQ(layer_of(report, "c").group, "Conv + Sigmoid + Mul + Add");
  EXPECT_EQ(layer_of(report, "a").precision, LayerPrecision::int8);
}

// Expected: engines of TensorRT-RTX 1.7.1.
TEST(LintForecast, TensorrtRtxHasFewerInt8Kernels) {
  auto model = lint_model(
      kEnds, pair("x", "xd") + weight_pairs("v") +
                 "c = Conv <pads = [1,1,1,1]> (xd, vd)\n" + pair("c", "cd") +
                 "t = ConvTranspose <pads = [1,1,1,1]> (cd, vd)\n" +
                 pair("t", "td") +
                 "m = MaxPool <kernel_shape = [1,1]> (td)\n"
                 "p = AveragePool <kernel_shape = [1,1]> (m)\n" +
                 pair("p", "y"));
  const LintReport other = lint_of(model);
  const LintReport rtx = lint_of(model, Target::tensorrt_rtx);
  for (const char* node : {"c", "t", "m", "p"}) {
    EXPECT_EQ(layer_of(other, node).precision, LayerPrecision::int8) << node;
    EXPECT_EQ(layer_of(rtx, node).precision, *node == 'c' || *node == 'm'
                                                 ? LayerPrecision::int8
                                                 : LayerPrecision::floating)
        << node;
  }
  initializer(model, "s0").add_dims(1);
  EXPECT_EQ(layer_of(lint_of(model, Target::tensorrt_rtx), "c").precision,
            LayerPrecision::floating);
  EXPECT_EQ(layer_of(lint_of(model), "c").precision, LayerPrecision::int8);
}

TEST(LintForecast, AFloatBranchKeepsTheKernelFromWritingInt8) {
  const LayerForecast conv = layer_of(lint_of(block("x", kNextLayer)), "c");
  EXPECT_EQ(conv.precision, LayerPrecision::int8_to_float);
  EXPECT_THAT(quoted_names(conv.reason), ElementsAre("a"));
}

TEST(LintForecast, ALayerWithoutPairsIsFloat) {
  const LintReport report = lint_of(lint_model(
      kEnds, weight_pairs("v") + "c = Conv <pads = [1,1,1,1]> (x, vd)\n"
                                 "p = MaxPool <kernel_shape = [1,1]> (c)\n"
                                 "y = Conv <pads = [1,1,1,1]> (p, v)"));
  EXPECT_EQ(layer_of(report, "c").precision, LayerPrecision::floating);
  EXPECT_THAT(numbers_in(layer_of(report, "c").reason), ElementsAre(1, 2));
  EXPECT_EQ(layer_of(report, "p").precision, LayerPrecision::floating);
  EXPECT_EQ(layer_of(report, "y").precision, LayerPrecision::floating);
}

TEST(LintForecast, ASwishAndABiasBelongToTheKernel) {
  const auto model = lint_model("(float[N,2,8] x) => (float[N,2,4] y)",
                                weight_pairs("u") + pair("x", "xd") +
                                    "m = MatMul (xd, ud)\n a = Add (m, b)\n"
                                    "g = Sigmoid (a)\n s = Mul (a, g)\n" +
                                    pair("s", "y", "s1"));
  EXPECT_EQ(layer_of(lint_of(model), "m").group,
            "MatMul + Add + Sigmoid + Mul");
  EXPECT_EQ(layer_of(lint_of(model), "m").precision, LayerPrecision::int8);
}

// Expected: ONNX Runtime 1.31's optimizer.
TEST(LintForecast, OnnxRuntimeFusesUint8AndNoNormalization) {
  const auto with_uint8 = [](onnx::ModelProto model) {
    initializer(model, "z0").set_data_type(onnx::TensorProto::UINT8);
    return lint_of(model, Target::onnxruntime);
  };
  const std::string start = pair("x", "xd") + weight_pairs("v") +
                            "c = Conv <pads = [1,1,1,1]> (xd, vd, b)\n";
  const auto direct = lint_model(kEnds, start + pair("c", "y", "s1"));
  const auto relu =
      lint_model(kEnds, start + "r = Relu (c)\n" + pair("r", "y", "s1"));
  const LayerForecast conv = layer_of(with_uint8(relu), "c");
  EXPECT_EQ(conv.precision, LayerPrecision::int8);
  EXPECT_EQ(conv.group, "Conv + Relu");
  EXPECT_EQ(layer_of(with_uint8(direct), "c").precision, LayerPrecision::int8);
  EXPECT_EQ(layer_of(with_uint8(block("xd", kNextLayer)), "c").precision,
            LayerPrecision::floating);
  EXPECT_EQ(layer_of(lint_of(direct, Target::onnxruntime), "c").precision,
            LayerPrecision::floating);
}

TEST(LintAccuracy, A01AScaleThatWasNeverSet) {
  const std::string ends = "(float[N,4] x) => (float[N,4] y)";
  auto model = lint_model(ends, pair("x", "xd") + "y = Relu (xd)");
  EXPECT_THAT(ids_of(lint_of(model)), Not(Contains("A01")));
  initializer(model, "s0").set_float_data(0, 6.0f / 127);
  EXPECT_THAT(ids_of(lint_of(model)), Contains("A01"));
}

onnx::ModelProto convolution_of(const std::string& scale,
                                const std::string& zero,
                                const std::string& axis, int64_t group = 1) {
  auto model =
      lint_model(kEnds, pair("x", "xd") + pair("k", "kd", scale, zero, axis) +
                            "y = Conv <pads = [1,1,1,1], group = " +
                            std::to_string(group) + "> (xd, kd)");
  add_noise(model, "k", {4, 4 / group, 3, 3});
  return model;
}

TEST(LintAccuracy, A02OneScaleForAConvolutionsWeight) {
  EXPECT_THAT(ids_of(lint_of(convolution_of("s1", "z0", ""))), Contains("A02"));
  EXPECT_THAT(ids_of(lint_of(convolution_of("s4", "z4", "<axis = 0>"))),
              Not(Contains("A02")));
}

TEST(LintAccuracy, A04AChannelWithoutWeights) {
  auto model = convolution_of("s4", "z4", "<axis = 0>");
  EXPECT_THAT(ids_of(lint_of(model)), Not(Contains("A04")));
  for (int i = 2 * 36; i < 3 * 36; ++i) {
    initializer(model, "k").set_float_data(i, 0);
  }
  EXPECT_THAT(numbers_in(finding_of(lint_of(model), "A04").reason),
              IsSupersetOf({1, 4}));
}

TEST(LintAccuracy, A05AQuantizerAfterRelu) {
  const std::string ends = "(float[N,4] x) => (float[N,8] y)";
  const std::string end = pair("r", "rd", "s1") + weight_pairs("u") +
                          "y = Gemm <transB = 1> (rd, ud)";
  EXPECT_THAT(ids_of(lint_of(lint_model(ends, "r = Relu (x)\n" + end))),
              Contains("A05"));
  EXPECT_THAT(ids_of(lint_of(lint_model(ends, "r = Tanh (x)\n" + end))),
              Not(Contains("A05")));
}

TEST(LintAccuracy, A06AndA08TheMostSensitiveLayers) {
  const LintReport plain = lint_of(convolution_of("s4", "z4", "<axis = 0>"));
  EXPECT_THAT(finding_of(plain, "A06").reason, HasSubstr("first"));
  EXPECT_THAT(ids_of(plain), Not(Contains("A08")));
  EXPECT_THAT(ids_of(lint_of(convolution_of("s4", "z4", "<axis = 0>", 4))),
              Contains("A08"));
  EXPECT_THAT(
      ids_of(lint_of(lint_model(kEnds, "y = Conv <pads = [1,1,1,1]> (x, v)"))),
      Not(Contains("A06")));
}

TEST(LintDeployment, ShowsHowToBuildAQuantizedFile) {
  const auto model = convolution_of("s4", "z4", "<axis = 0>");
  EXPECT_THAT(finding_of(lint_of(model, Target::tensorrt8), "D01").hint,
              HasSubstr("--int8"));
  EXPECT_THAT(finding_of(lint_of(model, Target::tensorrt11), "D01").hint,
              Not(HasSubstr("--stronglyTyped")));
  EXPECT_THAT(ids_of(lint_of(model, Target::tensorrt8)), Contains("D07"));
  EXPECT_THAT(ids_of(lint_of(model, Target::tensorrt11)), Not(Contains("D07")));
  EXPECT_THAT(ids_of(lint_of(model)), Contains("D03"));
  EXPECT_THAT(ids_of(lint_of(model)), Contains("D06"));
  EXPECT_THAT(ids_of(lint_of(model, Target::onnxruntime)),
              Not(Contains("D01")));
  const auto fixed = lint_model("(float[1,4] x) => (float[1,4] y)",
                                pair("x", "xd") + "y = Relu (xd)");
  EXPECT_THAT(ids_of(lint_of(fixed)), Not(Contains("D03")));
}

// Expected: TensorRT-RTX builds float16 data before a Q with a float32 scale;
// "input and kernel must be of same type" for a DQ with a float16 scale.
TEST(LintDeployment, D02DataAndWeightsOfDifferentTypes) {
  const auto cast_before = [](const std::string& output) {
    return lint_model("(float[N,4,8,8] x) => (" + output + "[N,4,8,8] y)",
                      "h = Cast <to = 10> (x)\n" + pair("h", "hd") +
                          weight_pairs("v") + "y = Conv " + kPads + " (hd, vd)",
                      19);
  };
  EXPECT_THAT(ids_of(lint_of(cast_before("float"), Target::tensorrt11)),
              Not(Contains("D02")));
  auto model = cast_before("float16");
  auto& scale = initializer(model, "s0");
  scale.clear_float_data();
  scale.set_data_type(onnx::TensorProto::FLOAT16);
  scale.add_int32_data(0x2522);  // 0.02
  const LintReport report = lint_of(model, Target::tensorrt11);
  EXPECT_EQ(finding_of(report, "D02").node, "y");
  EXPECT_EQ(finding_of(report, "D02").severity, LintSeverity::error);
}

TEST(LintDeployment, D04AndD05EqualScalesAndPlugins) {
  const std::string ends = "(float[N,4] x, float[N,4] t) => (float[N,4] y)";
  EXPECT_THAT(
      ids_of(lint_of(lint_model(
          ends, pair("x", "xd") + pair("t", "td") + "y = Add (xd, td)"))),
      Contains("D04"));
  auto model = lint_model(
      ends, pair("x", "xd") + pair("t", "td", "s1") + "y = Add (xd, td)");
  EXPECT_THAT(ids_of(lint_of(model)), Not(Contains("D04")));
  EXPECT_THAT(ids_of(lint_of(model)), Not(Contains("D05")));
  auto* node = model.mutable_graph()->mutable_node(4);
  node->set_domain("my.plugins");
  node->set_op_type("Fancy");
  auto* import = model.add_opset_import();
  import->set_domain("my.plugins");
  import->set_version(1);
  EXPECT_THAT(ids_of(lint_of(model)), Contains("D05"));
}

/// y = x by way of a pair with scale `scale` and an identity matrix.
onnx::ModelProto rounded_identity(float scale) {
  auto model = lint_model("(float[N,4] x) => (float[N,4] y)",
                          pair("x", "xd", "s") + "y = MatMul (xd, k)");
  *model.mutable_graph()->add_initializer() = float_tensor("s", {}, {scale});
  std::vector<float> identity(16, 0);
  for (size_t i = 0; i < 4; ++i) identity[5 * i] = 1;
  *model.mutable_graph()->add_initializer() =
      float_tensor("k", {4, 4}, identity);
  return model;
}

LintReport lint_with_samples(const onnx::ModelProto& model) {
  Tensor x(Shape{4000, 4});
  Rng(5).fill_uniform(x, -1, 1);
  return lint_onnx_bytes(model.SerializeAsString(), {.samples = x});
}

TEST(LintAccuracy, A03AScaleThatIsTooLarge) {
  EXPECT_THAT(ids_of(lint_with_samples(rounded_identity(1.0f / 127))),
              Not(Contains("A03")));
  EXPECT_THAT(ids_of(lint_with_samples(rounded_identity(5.0f / 127))),
              Contains("A03"));
  EXPECT_THAT(ids_of(lint_of(rounded_identity(5.0f / 127))),
              Not(Contains("A03")));
}

TEST(LintAccuracy, A07TheErrorOfALayer) {
  // A step of s causes noise of power s^2 / 12, uniform values have 1/3: 10
  // log10(4 / s^2) dB, 26.0 for 0.1.
  const LintReport report = lint_with_samples(rounded_identity(0.1f));
  EXPECT_THAT(numbers_in(finding_of(report, "A07").reason),
              Contains(::testing::DoubleNear(26.0, 1)));
  EXPECT_EQ(finding_of(report, "A07").node, "y");
  auto floats = lint_model("(float[N,4] x) => (float[N,8] y)",
                           "y = Gemm <transB = 1> (x, u)");
  EXPECT_THAT(ids_of(lint_with_samples(floats)), Not(Contains("A07")));
}

TEST(Lint, SamplesHaveToFit) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)lint_onnx_bytes(rounded_identity(1).SerializeAsString(),
                                    {.samples = Tensor(Shape{2, 5})});
            }),
            (Failure{"shape_mismatch", "compare"}));
}

TEST(Lint, ReportsAsTextAndJson) {
  const LintReport report = lint_of(block("x", kNextLayer));
  const std::vector<std::string> lines = lines_of(report.to_string());
  const LintFinding finding = finding_of(report, "P04");
  EXPECT_THAT(lines.at(0), StartsWith("P04 warning: "));
  EXPECT_EQ(lines.at(1), "    a: " + finding.reason);
  EXPECT_EQ(lines.at(2), "  fix: " + finding.hint);
  EXPECT_THAT(lines, Contains(StartsWith("  c      INT8 in, FP out  ")));
  const Config config = from_json(to_json(to_config(report)));
  EXPECT_EQ(config.at("findings").as_list().at(0).at("id"), Config("P04"));
  EXPECT_EQ(config.at("layers").as_list().at(0).at("group"),
            Config("Conv + BatchNormalization + Add + Relu"));
}

TEST(Lint, GivesTheSameReportForAFile) {
  const TempFolder folder;
  save(block("x", kNextLayer), folder / "model.onnx");
  EXPECT_EQ(lint_onnx(folder / "model.onnx").to_string(),
            lint_of(block("x", kNextLayer)).to_string());
}

}  // namespace
}  // namespace octet::io
