// lint --fix: each fix removes its finding and preserves the outputs of the
// standard's reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx_reference.h>

#include "lint_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kOneConv = "(float[N,3,8,8] x) => (float[N,4,8,8] y)";

/// x -> INT8 Conv of w and b -> y.
onnx::ModelProto one_convolution(const std::string& bias = "b") {
  return lint_model(kOneConv, weight_pairs("w") + pair("x", "xd") +
                                  "y = Conv " + kPads + " (xd, wd, " + bias +
                                  ")");
}

onnx::NodeProto& producer_of(onnx::ModelProto& model,
                             const std::string& output) {
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.output(0) == output) return node;
  }
  throw std::runtime_error("no node makes " + output);
}

Tensor answer(const std::string& bytes, float low = -2) {
  Tensor x(Shape{2, 3, 8, 8});
  Rng(3).fill_uniform(x, low, 2);
  return onnx_reference_from_bytes(bytes).predict(x);
}

float largest_difference(const Tensor& a, const Tensor& b) {
  float largest = 0;
  for (size_t i = 0; i < a.f32().size(); ++i) {
    largest = std::max(largest, std::abs(a.f32()[i] - b.f32()[i]));
  }
  return largest;
}

/// Fixes `model` and expects that `id` is no longer found. Returns the file.
std::string fixed(const onnx::ModelProto& model, const std::string& id,
                  Target target = Target::tensorrt10) {
  EXPECT_THAT(ids_of(lint_of(model, target)), Contains(id));
  const LintFix fix =
      fix_onnx_bytes(model.SerializeAsString(), {.target = target});
  EXPECT_THAT(ids_of(lint_onnx_bytes(fix.bytes, {.target = target})),
              Not(Contains(id)));
  EXPECT_TRUE(std::ranges::any_of(
      fix.repairs, [&](const auto& repair) { return repair.id == id; }));
  return fix.bytes;
}

/// The same, and expects equal outputs.
void expect_same(const onnx::ModelProto& model, const std::string& id,
                 Target target = Target::tensorrt10, float low = -2) {
  const std::string bytes = fixed(model, id, target);
  EXPECT_EQ(largest_difference(answer(model.SerializeAsString(), low),
                               answer(bytes, low)),
            0)
      << id;
}

TEST(LintFix, DoesNotChangeASoundFile) {
  const auto model = one_convolution();
  const LintFix fix = fix_onnx_bytes(model.SerializeAsString());
  EXPECT_THAT(fix.repairs, IsEmpty());
  EXPECT_EQ(lint_onnx_bytes(fix.bytes).to_string(), lint_of(model).to_string());
  EXPECT_EQ(
      largest_difference(answer(fix.bytes), answer(model.SerializeAsString())),
      0);
}

TEST(LintFix, Uint8Around128BecomesInt8) {
  auto model = one_convolution();
  auto& zero = initializer(model, "z0");
  zero.set_data_type(onnx::TensorProto::UINT8);
  zero.set_int32_data(0, 128);
  expect_same(model, "E02");
  // A zero point of 100 is not equivalent to int8.
  zero.set_int32_data(0, 100);
  EXPECT_THAT(fix_onnx_bytes(model.SerializeAsString()).repairs, IsEmpty());
}

TEST(LintFix, AMissingZeroPointIsInt8) {
  auto model = one_convolution();
  for (const char* name : {"xd_q", "xd"}) {
    producer_of(model, name).mutable_input()->RemoveLast();
  }
  // uint8 and int8 agree for quantized values from 0 to 127.
  expect_same(model, "E03", Target::tensorrt10, 0);
  EXPECT_EQ(largest_difference(answer(fixed(model, "E03")),
                               answer(one_convolution().SerializeAsString())),
            0);
}

TEST(LintFix, ScalesOfShape1BecomeScalars) {
  auto model = one_convolution();
  initializer(model, "s0").add_dims(1);
  initializer(model, "z0").add_dims(1);
  expect_same(model, "P31");
}

TEST(LintFix, ZeroPointsMatchTheNumberOfScales) {
  auto model = one_convolution();
  initializer(model, "z4") = int8_tensor("z4", {}, {0});
  EXPECT_EQ(largest_difference(answer(fixed(model, "E05")),
                               answer(one_convolution().SerializeAsString())),
            0);
}

TEST(LintFix, AMissingAxisIsInferred) {
  auto model = one_convolution();
  for (const char* name : {"wd_q", "wd"}) {
    producer_of(model, name).clear_attribute();
  }
  // w is [4,3,3,3], so ONNX' default of 1 is impossible.
  EXPECT_EQ(largest_difference(answer(fixed(model, "E09")),
                               answer(one_convolution().SerializeAsString())),
            0);
}

TEST(LintFix, AScaleOfAChannelOfZerosIsRaised) {
  auto model = one_convolution();
  for (int i = 27; i < 54; ++i) initializer(model, "w").set_float_data(i, 0);
  const std::string sound = model.SerializeAsString();
  initializer(model, "s4").set_float_data(1, 0);
  EXPECT_EQ(largest_difference(answer(fixed(model, "E06")), answer(sound)), 0);
  // A channel with weights needs another fix.
  initializer(model, "w").set_float_data(30, 0.5f);
  const LintFix fix = fix_onnx_bytes(model.SerializeAsString());
  EXPECT_THAT(fix.repairs, IsEmpty());
  EXPECT_THAT(ids_of(lint_onnx_bytes(fix.bytes)), Contains("E06"));
}

/// one_convolution() with an int32 bias and DQ.
onnx::ModelProto with_int32_bias() {
  auto model = lint_model(kOneConv,
                          weight_pairs("w") + pair("x", "xd") +
                              "bd = DequantizeLinear <axis = 0> (codes, s4)\n" +
                              "y = Conv " + kPads + " (xd, wd, bd)");
  auto codes = int8_tensor("codes", {4}, {100, -2000, 30000, 7});
  codes.set_data_type(onnx::TensorProto::INT32);
  *model.mutable_graph()->add_initializer() = codes;
  return model;
}

TEST(LintFix, AQuantizedBiasBecomesFloat) {
  expect_same(with_int32_bias(), "E17");
}

TEST(LintFix, WeightsAreStoredAsFloatsForTensorrt8) {
  auto model = one_convolution();
  auto& node = producer_of(model, "wd");
  node.set_input(0, "codes");
  std::vector<int32_t> codes(108);
  for (int i = 0; i < 108; ++i) codes[static_cast<size_t>(i)] = 2 * i - 107;
  *model.mutable_graph()->add_initializer() =
      int8_tensor("codes", {4, 3, 3, 3}, codes);
  expect_same(model, "E19", Target::tensorrt8);
}

TEST(LintFix, ValuesOfMinus128AreClipped) {
  auto model = one_convolution();
  initializer(model, "w").set_float_data(5, -128 * 0.01f);
  const std::string bytes = fixed(model, "E20");
  // One weight differs by a step of 0.01; |x| is at most 2.
  const float difference =
      largest_difference(answer(model.SerializeAsString()), answer(bytes));
  EXPECT_GT(difference, 0);
  EXPECT_LE(difference, 0.0201f);
}

TEST(LintFix, ADequantizerAndQuantizerOfOneScaleAreRemoved) {
  const auto model = lint_model(kOneConv, weight_pairs("w") + pair("x", "xe") +
                                              pair("xe", "xd") + "y = Conv " +
                                              kPads + " (xd, wd)");
  expect_same(model, "P19");
  const auto three = lint_model(
      kOneConv, weight_pairs("w") + pair("x", "xe") + pair("xe", "xf") +
                    pair("xf", "xd") + "y = Conv " + kPads + " (xd, wd)");
  const std::string bytes = fixed(three, "P19");
  onnx::ModelProto joined;
  ASSERT_TRUE(joined.ParseFromString(bytes));
  EXPECT_EQ(joined.graph().node_size(), 5);  // two pairs and a Conv
}

TEST(LintFix, AnOutputIsNoLongerQuantized) {
  const auto model =
      lint_model(kOneConv, weight_pairs("w") + pair("x", "xd") + "c = Conv " +
                               kPads + " (xd, wd)\n" + pair("c", "y", "s1"));
  const auto floats =
      lint_model(kOneConv, weight_pairs("w") + pair("x", "xd") + "y = Conv " +
                               kPads + " (xd, wd)");
  Tensor expected = answer(floats.SerializeAsString());
  for (float& v : expected.f32()) v = std::clamp(v, -128 * 0.05f, 127 * 0.05f);
  EXPECT_EQ(largest_difference(answer(fixed(model, "P16")), expected), 0);
}

TEST(LintFix, AnOutputKeepsItsClipping) {
  for (const std::string zero : {"z0", "from_0"}) {  // uint8 from 0: a ReLU
    auto model =
        lint_model(kOneConv, weight_pairs("w") + pair("x", "xd") + "c = Conv " +
                                 kPads + " (xd, wd)\n" + pair("c", "y", "s1"));
    auto& from_0 = *model.mutable_graph()->add_initializer();
    from_0.set_name("from_0");
    from_0.set_data_type(onnx::TensorProto::UINT8);
    from_0.add_int32_data(0);
    auto& small = *model.mutable_graph()->add_initializer();
    small.set_name("small");
    small.set_data_type(onnx::TensorProto::FLOAT);
    small.add_float_data(0.005f);
    auto& last = producer_of(model, "y");
    auto& quantize = producer_of(model, last.input(0));
    for (auto* node : {&last, &quantize}) {
      node->set_input(1, "small");
      node->set_input(2, zero);
    }
    const Tensor before = answer(model.SerializeAsString());
    EXPECT_LE(largest_difference(answer(fixed(model, "P16")), before), 0.0026);
  }
}

TEST(LintFix, PaddedValuesStayUnsigned) {
  const std::string start =
      weight_pairs("w") + "q = QuantizeLinear (x, s0, from_128)\n";
  auto model = lint_model("(float[N,3,8,8] x) => (float[N,4,10,10] y)",
                          start +
                              "p = Pad (q, pads)\nxd = DequantizeLinear (p, "
                              "s0, from_128)\ny = Conv " +
                              kPads + " (xd, wd)");
  auto& from_128 = *model.mutable_graph()->add_initializer();
  from_128.set_name("from_128");
  from_128.set_data_type(onnx::TensorProto::UINT8);
  from_128.add_int32_data(128);
  auto& pads = *model.mutable_graph()->add_initializer();
  pads.set_name("pads");
  pads.set_data_type(onnx::TensorProto::INT64);
  pads.add_dims(8);
  for (const int64_t n : {0, 0, 1, 1, 0, 0, 1, 1}) pads.add_int64_data(n);
  const LintFix fix = fix_onnx_bytes(model.SerializeAsString(), {});
  EXPECT_EQ(
      largest_difference(answer(fix.bytes), answer(model.SerializeAsString())),
      0);
}

TEST(LintFix, ValuesWithoutAZeroPointStayUint8ForOnnxRuntime) {
  auto model = one_convolution();
  auto& dequantize = producer_of(model, "xd");
  auto& quantize = producer_of(model, dequantize.input(0));
  for (auto* node : {&dequantize, &quantize}) {
    node->mutable_input()->RemoveLast();
  }
  const LintFix fix = fix_onnx_bytes(model.SerializeAsString(),
                                     {.target = Target::onnxruntime});
  EXPECT_EQ(largest_difference(answer(fix.bytes, 0),
                               answer(model.SerializeAsString(), 0)),
            0);
}

TEST(LintFix, WritesANewFile) {
  const TempFolder folder;
  save(with_int32_bias(), folder / "old.onnx");
  const LintFix fix = fix_onnx(folder / "old.onnx");
  EXPECT_EQ(fix.repairs.size(), 1u);
  EXPECT_EQ(fix.repairs.front().id, "E17");
  EXPECT_EQ(read_file(folder / "old.onnx"),
            with_int32_bias().SerializeAsString());
  EXPECT_EQ(failure_of<FormatError>([] { (void)fix_onnx_bytes("none"); }),
            (Failure{"unsupported_format", "file"}));
}

}  // namespace
}  // namespace octet::io
