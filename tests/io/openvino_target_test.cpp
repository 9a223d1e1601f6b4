// Files for OpenVINO: uint8 activations, with the same values, in place of INT8
// that it computes wrongly. tests/oracle/compare_openvino.py runs such files.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../facts.h"
#include "lint_models.h"
#include "onnx/check/check.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kOpenvino = Target::openvino;

/// Returns two convolutions, a Concat and a convolution, quantized and
/// calibrated.
Model concat_network(bool relu, bool is_signed) {
  const SymbolicTensor x = input({8, 8, 3});
  const auto branch = [&](int filters) {
    const SymbolicTensor y = Conv2D({.filters = filters,
                                     .kernel_size = {3, 3},
                                     .padding = Padding::same})(x);
    return relu ? ReLU()(y) : y;
  };
  const SymbolicTensor joined = Concatenate()({branch(4), branch(5)});
  const Model net(x, Conv2D({.filters = 3, .kernel_size = {3, 3}})(joined));
  Model model =
      quant::quantize_model(net, {.activation = {.is_signed = is_signed}});
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(noise({2, 8, 8, 3}));
  });
  return model;
}

onnx::ModelProto for_openvino(const Model& model) {
  return parse_onnx(
      to_onnx(model, OnnxExportOptions::for_target(Target::openvino)).bytes);
}

/// Returns the types and values of activations' zero points.
std::multiset<std::string> zero_points(const onnx::ModelProto& file) {
  std::multiset<std::string> result;
  for (const auto& node : file.graph().node()) {
    if (node.op_type() != "QuantizeLinear") continue;
    for (const auto& tensor : file.graph().initializer()) {
      if (tensor.name() != node.input(2)) continue;
      const int value = static_cast<unsigned char>(tensor.raw_data().at(0));
      result.insert(
          (tensor.data_type() == onnx::TensorProto::INT8 ? "int8 " : "uint8 ") +
          std::to_string(value));
    }
  }
  return result;
}

TEST(OpenvinoTarget, WritesUint8BetweenAConcatAndAConvolution) {
  const Model model = concat_network(false, true);
  const auto file = for_openvino(model);
  EXPECT_EQ(zero_points(file),
            (std::multiset<std::string>{"int8 0", "uint8 128"}));
  EXPECT_THAT(ids_of(lint_of(file, kOpenvino), LintSeverity::warning),
              IsEmpty());
  const auto any = to_onnx(model);
  EXPECT_THAT(ids_of(lint_onnx_bytes(any.bytes, {.target = kOpenvino}),
                     LintSeverity::error),
              Contains("E22"));
  const Tensor x = noise({2, 3, 8, 8});
  EXPECT_EQ(
      bits(onnx_reference_from_bytes(file.SerializeAsString()).predict(x)),
      bits(onnx_reference_from_bytes(any.bytes).predict(x)));
}

TEST(OpenvinoTarget, WritesNonnegativeValuesFromZero) {
  const Model model = concat_network(true, false);
  EXPECT_EQ(zero_points(for_openvino(model)),
            (std::multiset<std::string>{"int8 0", "uint8 0"}));
}

TEST(OpenvinoTarget, DoesNotChangeOtherFiles) {
  const SymbolicTensor x = input({8, 8, 3});
  const SymbolicTensor y = Conv2D({.filters = 4, .kernel_size = {3, 3}})(x);
  Model model = quant::quantize_model(
      Model(x, Conv2D({.filters = 3, .kernel_size = {3, 3}})(ReLU()(y))));
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(noise({2, 8, 8, 3}));
  });
  EXPECT_EQ(zero_points(for_openvino(model)),
            (std::multiset<std::string>{"int8 0", "int8 0"}));
}

/// Convolutions of w into a Concat; `middle` transforms it to "md", the input
/// of a convolution of k.
onnx::ModelProto concat_graph(const std::string& middle,
                              const std::string& attributes = "",
                              std::vector<int64_t> kernel = {4, 8, 3, 3}) {
  onnx::ModelProto model = lint_model(
      "(float[N,3,8,8] x) => (float[N,C,H,W] y)",
      weight_pairs("w") + pair("x", "xd") + "a = Conv " + kPads +
          " (xd, wd, b)\nr = Relu (a)\ncat = Concat <axis = 1> (a, r)\n" +
          middle + "kd = DequantizeLinear <axis = 0> (k, s4, z4)\ny = Conv " +
          (attributes.empty() ? kPads : attributes) + " (md, kd, b)");
  int64_t count = 1;
  for (const int64_t size : kernel) count *= size;
  *model.mutable_graph()->add_initializer() =
      int8_tensor("k", kernel, std::vector<int32_t>(size_t(count), 3));
  return model;
}

TEST(LintOpenvino, E22Int8ThroughAConcat) {
  const std::string broken[] = {
      pair("cat", "md"), "o = Relu (cat)\n" + pair("o", "md"),
      pair("a", "ad") + pair("r", "rd") + "md = Concat <axis = 1> (ad, rd)\n",
      pair("cat", "cd") + "md = MaxPool <kernel_shape = [1,1]> (cd)\n",
      pair("cat", "cd") +
          "t = Transpose <perm = [0,1,3,2]> (cd)\n"
          "md = Transpose <perm = [0,1,3,2]> (t)\n"};
  for (const std::string& middle : broken) {
    const auto model = concat_graph(middle);
    const LintReport report = lint_of(model, kOpenvino);
    EXPECT_THAT(ids_of(report, LintSeverity::error), Contains("E22")) << middle;
    EXPECT_THAT(quoted_names(finding_of(report, "E22").reason), Contains("y"));
    for (const Target other : {Target::tensorrt10, Target::onnxruntime}) {
      EXPECT_THAT(ids_of(lint_of(model, other)), Not(Contains("E22")));
    }
  }
}

TEST(LintOpenvino, E22HasNoOtherFindings) {
  const std::string sound[] = {
      "p = MaxPool <kernel_shape = [1,1]> (cat)\n" + pair("p", "md"),
      "o = Sigmoid (cat)\n" + pair("o", "md"),
      "o = Relu (cat)\np = Relu (o)\n" + pair("p", "md"),
      "o = Clip (cat, s0, s1)\n" + pair("o", "md"), "md = Identity (cat)\n"};
  for (const std::string& middle : sound) {
    EXPECT_THAT(ids_of(lint_of(concat_graph(middle), kOpenvino)),
                Not(Contains("E22")))
        << middle;
  }
  const auto grouped = concat_graph(
      pair("cat", "md"), "<group = 2, pads = [1,1,1,1]>", {4, 4, 3, 3});
  EXPECT_THAT(ids_of(lint_of(grouped, kOpenvino)), Not(Contains("E22")));
}

TEST(LintOpenvino, FixesE22WithTheSameAnswers) {
  const auto model =
      concat_graph(pair("a", "ad") + pair("r", "rd") +
                   "c2 = Concat <axis = 1> (ad, rd)\n" + pair("c2", "md"));
  const LintFix fix =
      fix_onnx_bytes(model.SerializeAsString(), {.target = kOpenvino});
  EXPECT_THAT(ids_of(lint_onnx_bytes(fix.bytes, {.target = kOpenvino})),
              Not(Contains("E22")));
  Tensor x(Shape{2, 3, 8, 8});
  Rng(3).fill_uniform(x, -2, 2);
  EXPECT_EQ(
      bits(onnx_reference_from_bytes(fix.bytes).predict(x)),
      bits(onnx_reference_from_bytes(model.SerializeAsString()).predict(x)));
}

TEST(LintOpenvino, P30StridesOf1x1AndTheirForecast) {
  const auto model =
      concat_graph(pair("a", "md"), "<strides = [2,2]>", {4, 4, 1, 1});
  const LintReport report = lint_of(model, kOpenvino);
  EXPECT_THAT(ids_of(report), Contains("P30"));
  EXPECT_EQ(report.layers.back().precision, LayerPrecision::floating);
  EXPECT_EQ(report.layers.front().op, "Conv");
}

}  // namespace
}  // namespace octet::io
