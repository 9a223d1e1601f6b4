// Rules E01 to E21: each with a graph that violates it; sound graphs violate
// none.
#include <functional>

#include <fmt/format.h>
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
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr auto kError = LintSeverity::error;

/// x -> Q -> DQ -> Conv of w -> Relu -> Q -> DQ -> Conv of v, in INT8.
onnx::ModelProto two_convolutions() {
  return lint_model("(float[N,3,8,8] x) => (float[N,4,8,8] y)",
                    pair("x", "xd") + weight_pairs("wv") + "c = Conv " + kPads +
                        " (xd, wd, b)\n r = Relu (c)\n" +
                        pair("r", "rd", "s1") + "y = Conv " + kPads +
                        " (rd, vd)");
}

onnx::ModelProto changed(const std::function<void(onnx::ModelProto&)>& change) {
  onnx::ModelProto model = two_convolutions();
  change(model);
  return model;
}

onnx::NodeProto& node_that_makes(onnx::ModelProto& model,
                                 const std::string& output) {
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.output(0) == output) return node;
  }
  throw std::runtime_error("no node makes " + output);
}

std::set<std::string> errors_of(const onnx::ModelProto& model,
                                Target target = Target::tensorrt10) {
  return ids_of(lint_of(model, target), kError);
}

TEST(LintErrors, ASoundGraphHasNoneForAnyTarget) {
  for (const Target target :
       {Target::tensorrt8, Target::tensorrt10, Target::tensorrt11,
        Target::tensorrt_rtx, Target::onnxruntime, Target::openvino}) {
    const LintReport report = lint_of(two_convolutions(), target);
    EXPECT_THAT(ids_of(report, LintSeverity::warning), IsEmpty())
        << report.to_string();
  }
}

TEST(LintErrors, E01APairWithoutAScale) {
  const auto model = changed([](onnx::ModelProto& m) {
    auto& node = node_that_makes(m, "xd_q");
    node.mutable_input()->DeleteSubrange(1, 2);
  });
  const LintReport report = lint_of(model);
  EXPECT_THAT(ids_of(report, kError), UnorderedElementsAre("E01"));
  EXPECT_EQ(finding_of(report, "E01").node, "xd_q");
  EXPECT_NE(report.incomplete, "");
}

TEST(LintErrors, E02Uint8Values) {
  const auto model = changed([](onnx::ModelProto& m) {
    auto tensor = int8_tensor("z0", {}, {0});
    tensor.set_data_type(onnx::TensorProto::UINT8);
    initializer(m, "z0") = tensor;
  });
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E02"));
  EXPECT_THAT(errors_of(model, Target::onnxruntime), IsEmpty());
}

// Expected: TensorRT-RTX's parser rejects both files.
TEST(LintErrors, E02Int32ValuesThatAreNoBias) {
  const std::string conv = weight_pairs("v") + "y = Conv " + kPads;
  EXPECT_THAT(errors_of(lint_model("(float[N,4,8,8] x) => (float[N,4,8,8] y)",
                                   "i = Cast <to = 6> (x)\n"
                                   "xd = DequantizeLinear (i, s0)\n" +
                                       conv + " (xd, vd)")),
              UnorderedElementsAre("E02"));
  auto model =
      lint_model("(float[N,4,8,8] x) => (float[N,4,8,8] y)",
                 pair("x", "xd") + weight_pairs("v") + "c = Conv " + kPads +
                     " (xd, vd)\n"
                     "t = DequantizeLinear (k, s0)\n"
                     "y = Add (c, t)");
  auto& codes = *model.mutable_graph()->add_initializer();
  codes = int8_tensor("k", {1}, {70});
  codes.set_data_type(onnx::TensorProto::INT32);
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E02"));
}

TEST(LintErrors, E03APairWithoutAZeroPoint) {
  const auto model = changed([](onnx::ModelProto& m) {
    for (const char* name : {"xd_q", "xd"}) {
      node_that_makes(m, name).mutable_input()->RemoveLast();
    }
  });
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E03"));
  EXPECT_EQ(finding_of(lint_of(model, Target::onnxruntime), "E03").severity,
            LintSeverity::warning);
}

TEST(LintErrors, E04AZeroPointThatIsNotZeroOrIsComputed) {
  const auto model = changed([](onnx::ModelProto& m) {
    initializer(m, "z4") = int8_tensor("z4", {4}, {0, 0, 3, 0});
  });
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E04"));
  EXPECT_THAT(numbers_in(finding_of(lint_of(model), "E04").reason),
              IsSupersetOf({3, 2}));  // the value and its index
  // Of a DQ only.
  auto differs = changed(
      [](onnx::ModelProto& m) { node_that_makes(m, "xd").set_input(2, "z1"); });
  *differs.mutable_graph()->add_initializer() = int8_tensor("z1", {}, {1});
  EXPECT_THAT(errors_of(differs), UnorderedElementsAre("E04"));
  EXPECT_EQ(finding_of(lint_of(differs), "E04").node, "xd");
  const auto computed =
      lint_model("(float[N,3] x, int8[1] z) => (float[N,3] y)",
                 "zz = Identity (z)\n xq = QuantizeLinear (x, s, zz)\n"
                 "y = DequantizeLinear (xq, s, zz)");
  auto with_scale = computed;
  *with_scale.mutable_graph()->add_initializer() =
      float_tensor("s", {1}, {0.1f});
  EXPECT_THAT(errors_of(with_scale), UnorderedElementsAre("E04"));
}

TEST(LintErrors, E05DifferentNumbersOfZeroPointsAndScales) {
  const auto model = changed([](onnx::ModelProto& m) {
    initializer(m, "z4") = int8_tensor("z4", {}, {0});
  });
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E05"));
  // One number is one scale, whatever its shape.
  EXPECT_THAT(errors_of(changed([](onnx::ModelProto& m) {
                initializer(m, "z0") = int8_tensor("z0", {1}, {0});
              })),
              IsEmpty());
}

TEST(LintErrors, E06ScalesThatAreNotFiniteAndPositive) {
  for (const float scale : {0.0f, -0.5f, NAN, INFINITY, 1e-42f}) {
    const auto model = changed([&](onnx::ModelProto& m) {
      initializer(m, "s4") = float_tensor("s4", {4}, {0.1f, scale, 0.1f, 0.1f});
    });
    const LintReport report = lint_of(model);
    EXPECT_THAT(ids_of(report, kError), Contains("E06")) << scale;
    EXPECT_THAT(numbers_in(finding_of(report, "E06").reason), Contains(1));
    EXPECT_THAT(errors_of(model, Target::onnxruntime), Contains("E06"));
  }
}

TEST(LintErrors, E07AComputedScale) {
  EXPECT_THAT(errors_of(lint_model(
                  "(float[N,3] x) => (float[N,3] y)",
                  "m = ReduceMax <keepdims = 0> (x)\n" + pair("x", "y", "m"))),
              UnorderedElementsAre("E07"));
  // A constant expression is a constant.
  EXPECT_THAT(
      errors_of(lint_model("(float[N,3] x) => (float[N,3] y)",
                           "m = Identity (s0)\n" + pair("x", "y", "m"))),
      IsEmpty());
}

TEST(LintErrors, E08DifferentNumbersOfScalesAndChannels) {
  const auto model = changed([](onnx::ModelProto& m) {
    initializer(m, "s4") = float_tensor("s4", {3}, {0.1f, 0.1f, 0.1f});
    initializer(m, "z4") = int8_tensor("z4", {3}, {0, 0, 0});
  });
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E08"));
  EXPECT_THAT(numbers_in(finding_of(lint_of(model), "E08").reason),
              ElementsAre(3, 4, 0));  // scales, channels, axis
  const auto outside = changed([](onnx::ModelProto& m) {
    for (const char* name : {"wd_q", "wd"}) {
      attribute(node_that_makes(m, name), "axis").set_i(7);
    }
  });
  EXPECT_THAT(errors_of(outside), Contains("E08"));
  const auto matrix = changed([](onnx::ModelProto& m) {
    initializer(m, "s4").mutable_dims()->Add(1);
    initializer(m, "z4").mutable_dims()->Add(1);
  });
  EXPECT_THAT(errors_of(matrix), UnorderedElementsAre("E08"));
}

TEST(LintErrors, E09ScalesPerChannelWithoutAnAxis) {
  const auto model = changed([](onnx::ModelProto& m) {
    for (const char* name : {"vd_q", "vd"}) {
      node_that_makes(m, name).clear_attribute();
    }
  });
  // v has four channels on either axis.
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E09"));
  EXPECT_EQ(finding_of(lint_of(model, Target::onnxruntime), "E09").severity,
            LintSeverity::info);
}

TEST(LintErrors, E10ScalesAlongTheInputChannels) {
  const auto model = changed([](onnx::ModelProto& m) {
    for (const char* name : {"vd_q", "vd"}) {
      attribute(node_that_makes(m, name), "axis").set_i(1);
    }
  });
  EXPECT_THAT(errors_of(model), UnorderedElementsAre("E10"));
  // A Gemm of [4,8] has its outputs along axis 1, of [8,4] with transB along 0.
  const std::string ends = "(float[N,4] x) => (float[N,8] y)";
  const std::string before = pair("x", "xd") + weight_pairs("u");
  EXPECT_THAT(
      errors_of(lint_model(ends, before + "y = Gemm <transB = 1> (xd, ud)")),
      IsEmpty());
  EXPECT_THAT(errors_of(lint_model("(float[N,8] x) => (float[N,4] y)",
                                   before + "y = MatMul (xd, ud)")),
              UnorderedElementsAre("E10"));
}

TEST(LintErrors, E11AnActivationWithScalesPerChannel) {
  EXPECT_THAT(errors_of(lint_model("(float[N,4,8,8] x) => (float[N,4,8,8] y)",
                                   pair("x", "y", "s4", "z4", "<axis = 1>"))),
              UnorderedElementsAre("E11"));
}

TEST(LintErrors, E12AScalar) {
  EXPECT_THAT(errors_of(lint_model("(float x) => (float y)", pair("x", "y"))),
              UnorderedElementsAre("E12"));
}

TEST(LintErrors, E13OpsetsThatAreTooOldOrTooNew) {
  EXPECT_THAT(ids_of(lint_of(with_opset(two_convolutions(), 11)), kError),
              UnorderedElementsAre("E13"));
  const auto half = [](int64_t opset) {
    auto model =
        lint_model("(float[N,3] x) => (float[N,3] y)", pair("x", "y"), opset);
    return model;
  };
  EXPECT_THAT(errors_of(half(21), Target::tensorrt10),
              UnorderedElementsAre("E13"));
  EXPECT_THAT(errors_of(half(21), Target::tensorrt11), IsEmpty());
  EXPECT_THAT(errors_of(half(18), Target::tensorrt8),
              UnorderedElementsAre("E13"));
  EXPECT_THAT(errors_of(half(26), Target::onnxruntime), IsEmpty());
  EXPECT_THAT(errors_of(half(10)), IsEmpty());
}

TEST(LintErrors, E14AnOutputTypeThatContradictsTheZeroPoint) {
  auto model = lint_model("(float[N,3] x) => (float[N,3] y)",
                          "xq = QuantizeLinear <output_dtype = 2> (x, s0, z0)\n"
                          "y = DequantizeLinear (xq, s0, z0)",
                          21);
  EXPECT_THAT(errors_of(model, Target::tensorrt11),
              UnorderedElementsAre("E14"));
  attribute(*model.mutable_graph()->mutable_node(0), "output_dtype").set_i(3);
  EXPECT_THAT(errors_of(model, Target::tensorrt11), IsEmpty());
}

TEST(LintErrors, E15Int4OfAnOddSize) {
  const auto of_size = [](int64_t size) {
    auto model =
        lint_model(fmt::format("(float[N,{0}] x) => (float[N,{0}] y)", size),
                   "d = DequantizeLinear (codes, s0)\n"
                   "y = Add (x, d)",
                   21);
    auto& codes = *model.mutable_graph()->add_initializer();
    codes.set_name("codes");
    codes.set_data_type(22);
    codes.add_dims(size);
    codes.set_raw_data("ab");
    return model;
  };
  EXPECT_THAT(errors_of(of_size(3), Target::tensorrt11),
              UnorderedElementsAre("E15"));
  EXPECT_THAT(errors_of(of_size(4), Target::tensorrt11), IsEmpty());
  EXPECT_THAT(errors_of(of_size(4), Target::tensorrt8), Contains("E15"));
}

TEST(LintErrors, E16OperatorsOnIntegers) {
  const auto model = lint_model("(float[N,4] x) => (float[N,8] y)",
                                "q = QuantizeLinear (x, s0, z0)\n"
                                "m = MatMulInteger (q, k)\n"
                                "f = Cast <to = 1> (m)\n"
                                "y = Mul (f, s1)");
  auto with_codes = model;
  *with_codes.mutable_graph()->add_initializer() =
      int8_tensor("k", {4, 8}, std::vector<int32_t>(32, 1));
  EXPECT_THAT(errors_of(with_codes), UnorderedElementsAre("E16"));
  EXPECT_THAT(errors_of(with_codes, Target::onnxruntime), IsEmpty());
}

TEST(LintErrors, E17AQuantizedBias) {
  auto model = changed([](onnx::ModelProto& m) {
    auto* node = m.mutable_graph()->add_node();
    node->set_op_type("DequantizeLinear");
    node->add_input("codes");
    node->add_input("s4");
    node->add_output("bd");
    auto* axis = node->add_attribute();
    axis->set_name("axis");
    axis->set_type(onnx::AttributeProto::INT);
    axis->set_i(0);
    auto codes = int8_tensor("codes", {4}, {1, 2, 3, 4});
    codes.set_data_type(onnx::TensorProto::INT32);
    *m.mutable_graph()->add_initializer() = codes;
    node_that_makes(m, "c").set_input(2, "bd");
  });
  const LintReport report = lint_of(model);
  EXPECT_THAT(ids_of(report, kError), UnorderedElementsAre("E17"));
  EXPECT_THAT(finding_of(report, "E17").reason, HasSubstr("int32"));
}

TEST(LintErrors, E18AnOperatorOnQuantizedValues) {
  const std::string ends = "(float[N,4,8,8] x) => (float[N,4,4,4] y)";
  const std::string pool =
      "q = QuantizeLinear (x, s0, z0)\n"
      "p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (q)\n";
  EXPECT_THAT(
      errors_of(lint_model(ends, pool + "y = DequantizeLinear (p, s0, z0)")),
      IsEmpty());
  EXPECT_THAT(
      errors_of(lint_model(
          ends, pool + "r = Relu (p)\n y = DequantizeLinear (r, s0, z0)", 14)),
      UnorderedElementsAre("E18"));
}

TEST(LintErrors, E19WeightsStoredAsIntegers) {
  auto model = changed([](onnx::ModelProto& m) {
    node_that_makes(m, "wd").set_input(0, "codes");
    *m.mutable_graph()->add_initializer() =
        int8_tensor("codes", {4, 3, 3, 3}, std::vector<int32_t>(108, -3));
  });
  EXPECT_THAT(errors_of(model, Target::tensorrt8), Contains("E19"));
  EXPECT_THAT(errors_of(model), IsEmpty());
}

TEST(LintErrors, E20ValuesOfMinus128) {
  const auto model = changed([](onnx::ModelProto& m) {
    initializer(m, "w").set_float_data(30, -128 * 0.011f);
  });
  const LintReport report = lint_of(model);
  EXPECT_EQ(numbers_in(finding_of(report, "E20").reason).at(0), 1);
  EXPECT_EQ(finding_of(report, "E20").severity, LintSeverity::info);
  EXPECT_EQ(finding_of(lint_of(model, Target::tensorrt8), "E20").severity,
            LintSeverity::warning);
  EXPECT_THAT(ids_of(lint_of(two_convolutions())), Not(Contains("E20")));
}

TEST(LintErrors, E21AComputedWeight) {
  const auto model =
      lint_model("(float[N,3,8,8] x, float[4,3,3,3] k) => (float[N,4,6,6] y)",
                 "y = Conv (x, k)");
  EXPECT_THAT(errors_of(model, Target::tensorrt8), UnorderedElementsAre("E21"));
  EXPECT_EQ(finding_of(lint_of(model), "E21").severity, LintSeverity::warning);
}

TEST(Lint, RejectsInvalidModels) {
  EXPECT_EQ(failure_of<FormatError>([] { lint_onnx_bytes("no model"); }),
            (Failure{"unsupported_format", "file"}));
  EXPECT_EQ(failure_of<IoError>([] { lint_onnx("/none/such.onnx"); }),
            (Failure{"file_not_found", "/none/such.onnx"}));
  EXPECT_EQ(failure_of<ValueError>(
                [] { lint_onnx_bytes("no model", {.target = Target::any}); }),
            (Failure{"invalid_value", "lint target"}));
}

TEST(Lint, HasTheRulesOfEachFamilyInOrder) {
  std::string last;
  for (const LintRule& rule : lint_rules()) {
    EXPECT_TRUE(last.substr(0, 1) != rule.id.substr(0, 1) || last < rule.id)
        << rule.id;
    EXPECT_EQ(rule.severities.size(), 6u);
    EXPECT_EQ(rule.severities.find_first_not_of("EWI-"), std::string::npos);
    last = rule.id;
  }
}

}  // namespace
}  // namespace octet::io
