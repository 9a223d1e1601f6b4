// Rules P01 to P31: each with a graph that violates it and one that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "lint_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kImages = "(float[N,3,8,8] x) => (float[N,4,8,8] y)";
const std::string kFour = "(float[N,4,8,8] x) => (float[N,4,8,8] y)";
const std::string kBatchNorm = "BatchNormalization (";

std::string conv(const std::string& to, const std::string& x,
                 const std::string& w) {
  return to + " = Conv " + kPads + " (" + x + ", " + w + ")\n";
}

void expect_broken(const std::string& id, const onnx::ModelProto& broken,
                   const onnx::ModelProto& sound) {
  const LintReport bad = lint_of(broken), good = lint_of(sound);
  EXPECT_THAT(ids_of(bad), Contains(id)) << bad.to_string();
  EXPECT_THAT(ids_of(good), Not(Contains(id))) << good.to_string();
  EXPECT_NE(finding_of(bad, id).hint, "");
}

TEST(LintPlacement, P01HalfQuantizedLayers) {
  const auto whole = lint_model(
      kImages, pair("x", "xd") + weight_pairs("w") + conv("y", "xd", "wd"));
  const auto data = lint_model(kImages, pair("x", "xd") + conv("y", "xd", "w"));
  const auto weight =
      lint_model(kImages, weight_pairs("w") + conv("y", "x", "wd"));
  expect_broken("P01", data, whole);
  expect_broken("P01", weight, lint_model(kImages, conv("y", "x", "w")));
  EXPECT_THAT(finding_of(lint_of(weight), "P01").reason,
              HasSubstr("its data has none"));
}

TEST(LintPlacement, P02AndP28PairsInsideAKernel) {
  const std::string start =
      pair("x", "xd") + weight_pairs("w") + conv("c", "xd", "wd");
  const auto inner =
      lint_model(kImages, start + pair("c", "cd", "s1") +
                              "y = BatchNormalization (cd, b, b, b, s4)");
  const auto after =
      lint_model(kImages, start + "y = BatchNormalization (c, b, b, b, s4)");
  expect_broken("P02", inner, after);
  const auto relu =
      lint_model(kImages, start + pair("c", "cd", "s1") + "y = Relu (cd)");
  expect_broken("P28", relu, lint_model(kImages, start + "y = Relu (c)"));
  const auto between =
      lint_model(kImages, start + "n = BatchNormalization (c, b, b, b, s4)\n" +
                              pair("n", "nd", "s1") + "y = Relu (nd)");
  expect_broken("P28", between, after);
}

TEST(LintPlacement, P03ANormalizationAloneBeforeQuantizedLayers) {
  const std::string end = "r = Relu (n)\n" + pair("r", "rd", "s1") +
                          weight_pairs("v") + conv("y", "rd", "vd");
  expect_broken(
      "P03",
      lint_model(kFour, "n = BatchNormalization (x, b, b, b, s4)\n" + end),
      lint_model(kFour, pair("x", "xd") +
                            "n = BatchNormalization (xd, b, b, b, s4)\n" +
                            end));
}

// x -> Conv (INT8) -> c, added to `other`.
onnx::ModelProto residual(const std::string& between,
                          const std::string& operands) {
  return lint_model(kFour, pair("x", "xd") + weight_pairs("v") +
                               conv("c", "xd", "vd") + between + "y = Add (" +
                               operands + ")");
}

TEST(LintPlacement, P04AFloatBranchWithoutConvolution) {
  expect_broken("P04", residual("", "c, x"), residual("", "c, xd"));
  expect_broken("P04", residual(pair("c", "cd", "s1"), "cd, x"),
                residual("", "xd, c"));
}

TEST(LintPlacement, P05AQuantizedBranchThatCouldFuse) {
  expect_broken("P05", residual(pair("c", "cd", "s1"), "cd, xd"),
                residual("", "c, xd"));
  // After an activation, nothing can be fused.
  EXPECT_THAT(ids_of(lint_of(residual("r = Relu (c)\n" + pair("r", "rd", "s1"),
                                      "rd, xd"))),
              Not(Contains("P05")));
}

TEST(LintPlacement, P06AFloatAddBeforeQuantizedConsumers) {
  const std::string end =
      pair("a", "ad", "s1") + weight_pairs("v") + conv("y", "ad", "vd");
  expect_broken("P06",
                lint_model(kFour, "t = Tanh (x)\n a = Add (x, t)\n" + end),
                lint_model(kFour, "t = Tanh (x)\n" + pair("x", "xd") +
                                      pair("t", "td", "s1") +
                                      "a = Add (xd, td)\n" + end));
}

TEST(LintPlacement, P07TwoConvolutionsIntoOneAdd) {
  const std::string both = pair("x", "xd") + weight_pairs("v") +
                           conv("c", "xd", "vd") + conv("d", "xd", "vd");
  expect_broken(
      "P07", lint_model(kFour, both + "y = Add (c, d)"),
      lint_model(kFour, both + pair("d", "dd", "s1") + "y = Add (c, dd)"));
}

// Rules of Add also apply to products, if the sum is quantized.
TEST(LintPlacement, P04P05AndP07ProductsAsBranches) {
  const auto model = [](const std::string& ends, const std::string& nodes,
                        bool quantized = true) {
    const std::string end = pair("u", "ue") +
                            (quantized ? pair("a", "ad", "s1") : "") +
                            "y = Gemm (" + (quantized ? "ad" : "a") + ", ue)";
    return lint_model("(float[N,4] x" + ends + ") => (float[N,4] y)",
                      pair("x", "xd") + weight_pairs("u") +
                          "g = Gemm <transB = 1> (xd, ud)\n" + nodes + end);
  };
  const std::string z = ", float[N,8] z";
  const auto whole = model(z, pair("z", "zd") + "a = Add (g, zd)\n");
  expect_broken("P04", model(z, "a = Add (g, z)\n"), whole);
  EXPECT_THAT(ids_of(lint_of(model(z, "a = Add (g, z)\n", false))),
              Not(Contains("P04")));
  expect_broken(
      "P05",
      model(z, pair("z", "zd") + pair("g", "gd", "s1") + "a = Add (gd, zd)\n"),
      whole);
  const std::string two = "h = Gemm <transB = 1> (xd, ud)\n";
  expect_broken("P07", model("", two + "a = Add (g, h)\n"),
                model("", two + pair("h", "hd", "s1") + "a = Add (g, hd)\n"));
}

TEST(LintPlacement, P08AFloatBranchWithOtherConsumers) {
  auto model = residual("t = Tanh (c)\n", "c, xd");
  expect_broken(
      "P08",
      lint_model("(float[N,4,8,8] x) => (float[N,4,8,8] y, float[N,4,8,8] t)",
                 pair("x", "xd") + weight_pairs("v") + conv("c", "xd", "vd") +
                     "t = Tanh (c)\n y = Add (c, xd)"),
      residual("", "c, xd"));
}

TEST(LintPlacement, P09AQuantizedLayerWithFloatConsumers) {
  const std::string start =
      pair("x", "xd") + weight_pairs("v") + conv("c", "xd", "vd");
  const auto read_float =
      lint_model(kFour, start + "y = Softmax <axis = 1> (c)");
  const auto output = lint_model(kFour, start + "y = Relu (c)");
  expect_broken("P09", read_float, output);
  EXPECT_THAT(quoted_names(finding_of(lint_of(read_float), "P09").reason),
              Contains("y"));
}

TEST(LintPlacement, P10AMaxPoolBetweenScales) {
  const std::string ends = "(float[N,4,8,8] x) => (float[N,4,4,4] y)";
  const std::string pool =
      pair("x", "xd") +
      "p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (xd)\n";
  const std::string end = weight_pairs("v") + conv("y", "pd", "vd");
  expect_broken("P10", lint_model(ends, pool + pair("p", "pd", "s1") + end),
                lint_model(ends, pool + pair("p", "pd") + end));
}

TEST(LintPlacement, P11AFloatAveragePoolBeforeQuantizedConsumers) {
  const std::string ends = "(float[N,4,8,8] x) => (float[N,8] y)";
  const std::string end = "f = Flatten (g)\n" + pair("f", "fd", "s1") +
                          weight_pairs("u") + "y = Gemm <transB = 1> (fd, ud)";
  expect_broken(
      "P11", lint_model(ends, "g = GlobalAveragePool (x)\n" + end),
      lint_model(ends, pair("x", "xd") + "g = GlobalAveragePool (xd)\n" + end));
}

TEST(LintPlacement, P12ConsumersWithOtherScales) {
  const std::string ends =
      "(float[N,4,8,8] x) => (float[N,4,8,8] y, float[N,4,8,8] z)";
  const std::string end =
      weight_pairs("v") + conv("y", "xd", "vd") + conv("z", "xe", "vd");
  expect_broken("P12",
                lint_model(ends, pair("x", "xd") + pair("x", "xe", "s1") + end),
                lint_model(ends, pair("x", "xd") + pair("x", "xe") + end));
}

TEST(LintPlacement, P13AnUnquantizedConsumer) {
  const std::string ends =
      "(float[N,4,8,8] x) => (float[N,4,8,8] y, float[N,4,8,8] z)";
  const std::string start = pair("x", "xd") + weight_pairs("v");
  expect_broken(
      "P13",
      lint_model(ends, start + conv("y", "xd", "vd") + conv("z", "x", "v")),
      lint_model(ends, start + conv("y", "xd", "vd") + "z = Tanh (x)"));
}

TEST(LintPlacement, P14AConcatOfSeveralScales) {
  const std::string ends =
      "(float[N,4,8,8] x, float[N,4,8,8] t) => (float[N,8,8,8] y)";
  const std::string concat = "c = Concat <axis = 1> (xd, td)\n";
  expect_broken("P14",
                lint_model(ends, pair("x", "xd") + pair("t", "td", "s1") +
                                     concat + "y = Relu (c)"),
                lint_model(ends, pair("x", "xd") + pair("t", "td") + concat +
                                     "y = Relu (c)"));
  const auto half = lint_model(
      ends, pair("x", "xd") + "c = Concat <axis = 1> (xd, t)\ny = Relu (c)");
  EXPECT_THAT(numbers_in(finding_of(lint_of(half), "P14").reason),
              ElementsAre(1, 2));
}

TEST(LintPlacement, P15AHalfQuantizedMulAndAPairInsideASwish) {
  const std::string ends =
      "(float[N,4,8,8] x, float[N,4,1,1] t) => (float[N,4,8,8] y)";
  expect_broken("P15", lint_model(ends, pair("x", "xd") + "y = Mul (xd, t)"),
                lint_model(ends, pair("x", "xd") + pair("t", "td", "s1") +
                                     "y = Mul (xd, td)"));
  const std::string start =
      pair("x", "xd") + weight_pairs("v") + conv("c", "xd", "vd");
  expect_broken(
      "P15",
      lint_model(kFour, start + "g = Sigmoid (c)\n" + pair("g", "gd", "s1") +
                            "y = Mul (c, gd)"),
      lint_model(kFour, start + "g = Sigmoid (c)\n y = Mul (c, g)"));
}

TEST(LintPlacement, P16AQuantizedOutput) {
  const std::string start =
      pair("x", "xd") + weight_pairs("v") + conv("c", "xd", "vd");
  expect_broken("P16", lint_model(kFour, start + pair("c", "y", "s1")),
                lint_model(kFour, start + "y = Relu (c)"));
}

TEST(LintPlacement, P17AQuantizedSoftmax) {
  const std::string ends = "(float[N,4] x) => (float[N,4] y)";
  expect_broken("P17", lint_model(ends, pair("x", "xd") + "y = Softmax (xd)"),
                lint_model(ends, "y = Softmax (x)"));
}

TEST(LintPlacement, P18IncompletePairs) {
  const std::string ends = "(float[N,4] x) => (float[N,4] y)";
  expect_broken("P18",
                lint_model(ends,
                           "q = QuantizeLinear (x, s0, z0)\n"
                           "y = DequantizeLinear (q, s1, z0)"),
                lint_model(ends, pair("x", "y")));
  EXPECT_THAT(ids_of(lint_of(lint_model("(float[N,4] x) => (int8[N,4] y)",
                                        "y = QuantizeLinear (x, s0, z0)"))),
              Contains("P18"));
  EXPECT_THAT(ids_of(lint_of(lint_model("(int8[N,4] x) => (float[N,4] y)",
                                        "y = DequantizeLinear (x, s0, z0)"))),
              Contains("P18"));
}

TEST(LintPlacement, P19ADequantizerBeforeAQuantizer) {
  const std::string ends = "(float[N,4] x) => (float[N,8] y)";
  const std::string end = weight_pairs("u") + "y = Gemm <transB = 1> (xe, ud)";
  expect_broken(
      "P19", lint_model(ends, pair("x", "xd") + pair("xd", "xe", "s1") + end),
      lint_model(ends, pair("x", "xe") + end));
}

TEST(LintPlacement, P20AQuantizerAfterAPad) {
  const std::string ends = "(float[N,3,6,6] x) => (float[N,4,6,6] y)";
  const auto padded = [&](const std::string& nodes) {
    auto model =
        lint_model(ends, nodes + weight_pairs("w") + "y = Conv (pd, wd)");
    auto& pads = *model.mutable_graph()->add_initializer();
    pads.set_name("pads");
    pads.set_data_type(onnx::TensorProto::INT64);
    pads.add_dims(8);
    for (const int64_t n : {0, 0, 1, 1, 0, 0, 1, 1}) pads.add_int64_data(n);
    return model;
  };
  expect_broken("P20", padded("p = Pad (x, pads)\n" + pair("p", "pd")),
                padded(pair("x", "xd") + "pd = Pad (xd, pads)\n"));
}

TEST(LintPlacement, P21TransposesOfImages) {
  const std::string nhwc = "(float[N,8,8,3] x) => (float[N,4,8,8] y)";
  expect_broken("P21",
                lint_model(nhwc, "t = Transpose <perm = [0,3,1,2]> (x)\n" +
                                     pair("t", "td") + weight_pairs("w") +
                                     conv("y", "td", "wd")),
                lint_model(kImages, pair("x", "td") + weight_pairs("w") +
                                        conv("y", "td", "wd")));
}

TEST(LintPlacement, P22ABroadcastAdd) {
  const auto add = [](const std::string& shape) {
    return lint_model(
        "(float[N,4,8,8] x, float" + shape + " t) => (float[N,4,8,8] y)",
        pair("x", "xd") + pair("t", "td") + "y = Add (xd, td)");
  };
  expect_broken("P22", add("[N,4,1,1]"), add("[N,4,8,8]"));
}

// A convolution from `in` to `out` channels in `group` groups.
onnx::ModelProto convolution(int64_t in, int64_t out, int64_t group,
                             const std::string& op = "Conv") {
  const bool transposed = op == "ConvTranspose";
  auto model = lint_model(
      "(float[N," + std::to_string(in) + ",8,8] x) => (float[N," +
          std::to_string(out) + ",8,8] y)",
      pair("x", "xd") + pair("k", "kd", "s1") + "y = " + op + " <pads = " +
          "[1,1,1,1], group = " + std::to_string(group) + "> (xd, kd)");
  if (transposed) {
    add_noise(model, "k", {in, out / group, 3, 3});
  } else {
    add_noise(model, "k", {out, in / group, 3, 3});
  }
  return model;
}

TEST(LintPlacement, P23AndP24ChannelsOfConvolutions) {
  expect_broken("P23", convolution(32, 17, 1), convolution(32, 16, 1));
  // Model-Optimizer quantizes first layers whose outputs fill tensor cores.
  expect_broken("P24", convolution(3, 17, 1), convolution(3, 16, 1));
}

TEST(LintPlacement, P25SmallProducts) {
  const auto product = [](int64_t in, int64_t out) {
    auto model = lint_model(
        "(float[N," + std::to_string(in) + "] x) => " + "(float[N," +
            std::to_string(out) + "] y)",
        pair("x", "xd") + pair("k", "kd", "s1") + "y = MatMul (xd, kd)");
    add_noise(model, "k", {in, out});
    return model;
  };
  expect_broken("P25", product(64, 10), product(64, 16));
}

TEST(LintPlacement, P26GroupedAndTransposedConvolutions) {
  expect_broken("P26", convolution(32, 32, 32), convolution(32, 32, 1));
  expect_broken("P26", convolution(16, 32, 1, "ConvTranspose"),
                convolution(16, 32, 1));
}

TEST(LintPlacement, P27PairsWithoutAnInt8Consumer) {
  const std::string ends = "(float[N,4] x) => (float[N,4] y)";
  expect_broken("P27", lint_model(ends, pair("x", "xd") + "y = Sin (xd)"),
                lint_model(ends, pair("x", "xd") + "y = Relu (xd)"));
}

TEST(LintPlacement, P27PairsBeforeTensorrtRtxsFloatKernels) {
  const auto model = lint_model(
      kFour, pair("x", "xd") + "y = AveragePool <kernel_shape = [1,1]> (xd)");
  EXPECT_THAT(ids_of(lint_of(model)), Not(Contains("P27")));
  EXPECT_THAT(ids_of(lint_of(model, Target::tensorrt_rtx)), Contains("P27"));
}

TEST(LintPlacement, P31AScaleOfShape1) {
  const auto model = lint_model(
      kImages, pair("x", "xd") + weight_pairs("w") + conv("y", "xd", "wd"));
  auto listed = model;
  initializer(listed, "s0").add_dims(1);
  initializer(listed, "z0").add_dims(1);
  expect_broken("P31", listed, model);
}

TEST(LintPlacement, HasNoFindingsForAFloatNetwork) {
  const LintReport report =
      lint_of(lint_model(kFour,
                         "c = Conv <pads = [1,1,1,1]> (x, v)\n"
                         "n = BatchNormalization (c, b, b, b, s4)\n"
                         "a = Add (n, x)\n r = Relu (a)\n"
                         "p = AveragePool <kernel_shape = [1,1]> (r)\n"
                         "y = Softmax (p)"));
  EXPECT_TRUE(report.findings.empty()) << report.to_string();
}

}  // namespace
}  // namespace octet::io
