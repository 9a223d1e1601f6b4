#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;

TEST(QuantizeModel, AppliesTheFullPlan) {
  const Model model = quickstart();
  const Model quantized = quantize_model(model);
  EXPECT_EQ(plan_of(quantized), plan_for(model));
  EXPECT_EQ(quantizers(quantized).size(), 4u);
}

TEST(QuantizeModel, AppliesTheUsersConfigurations) {
  QuantizeOptions options;
  options.activation.bits = 4;
  const Model quantized = quantize_model(quickstart(), options);
  EXPECT_EQ(quantizer(quantized, "image")->config().bits, 4);
  EXPECT_EQ(quantizer(quantized, "dense/kernel")->config().bits, 8);
}

// Four bits with the other fields at activation defaults, which is unintended.
TEST(QuantizeModel, WarnsOfWeightsConfiguredAsActivations) {
  const Model model = quickstart();
  const WarningCapture warnings;
  (void)quantize_model(model, {.weight = {.bits = 4}});
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"unusual_options", "weight"}));
  QuantizerConfig weight = weight_quantizer();
  weight.bits = 4;
  (void)quantize_model(model, {.weight = weight});
  EXPECT_EQ(warnings.messages.size(), 1u);
}

TEST(QuantizeModel, LeavesTheModelUnchangedAndIsDeterministic) {
  const Model model = quickstart();
  const Tensor x = noise({5, 8, 6, 1});
  const auto weights = weight_bits(model);
  const auto answer = bits(model.predict(x));
  const auto before = names(model);
  const Model first = quantize_model(model);
  shake(first, 3);
  const Model second = quantize_model(model);
  EXPECT_EQ(weight_bits(model), weights);
  EXPECT_EQ(bits(model.predict(x)), answer);
  EXPECT_EQ(names(model), before);
  EXPECT_EQ(weight_bits(second), weights);
  EXPECT_EQ(names(second), names(first));
}

TEST(QuantizeModel, IsTheFloatModelWithItsQuantizersOff) {
  const Model model = quickstart();
  Model quantized = quantize_model(model);
  const Tensor x = noise({5, 8, 6, 1});
  disable_fake_quant(quantized);
  EXPECT_EQ(bits(quantized.predict(x)), bits(model.predict(x)));
}

TEST(QuantizeModel, QuantizesBothWeightsOfASeparableConvolution) {
  const SymbolicTensor x = input({5, 6, 3}, "x");
  const Model model(
      x,
      SeparableConv2D({.filters = 4, .depth_multiplier = 2, .name = "sep"})(x));
  const Model quantized = quantize_model(model);
  const auto scales = [&](const std::string& name) {
    const Parameter& p = quantized.layer("quant_sep").parameter(name);
    return quantizer(quantized, "sep/" + name)
        ->weight_qparams(p.variable, p.channel_axis)
        .scale.size();
  };
  EXPECT_EQ(scales("depthwise_kernel"), 3);
  EXPECT_EQ(scales("pointwise_kernel"), 4);
}

TEST(QuantizeModel, StaysNearTheFloatModelOnceCalibrated) {
  const Tensor x = noise({20, 8, 6, 1});
  const auto real = values(quickstart().predict(x));
  const auto rounded = values(calibrated_quickstart().predict(x));
  // Outputs reach 1.6; eight bits lose 1 % of that here (0.014).
  for (size_t i = 0; i < real.size(); ++i) {
    EXPECT_NEAR(rounded[i], real[i], 0.05f);
  }
}

TEST(QuantizeModel, RefusesAQuantizedModel) {
  const Model quantized = quantize_model(quickstart());
  EXPECT_EQ(failure_of<ValueError>([&] { (void)quantize_model(quantized); }),
            (Failure{"already_quantized", "quantize_model"}));
}

TEST(QuantizeModel, RefusesAModelWithNothingToQuantize) {
  const SymbolicTensor x = input({3});
  const Model model(x, Softmax()(ReLU()(x)), {.name = "plain"});
  EXPECT_EQ(failure_of<ValueError>([&] { (void)quantize_model(model); }),
            (Failure{"unsupported_model", "quantize_model"}));
}

TEST(QuantizeModel, PreservesParameterAndWorkCounts) {
  const Model model = quickstart();
  const Model quantized = quantize_model(model);
  EXPECT_EQ(quantized.parameter_count(), model.parameter_count());
  const std::string text = quantized.summary();
  EXPECT_THAT(
      lines_of(text),
      Contains(StartsWith("quant_conv2d         Conv2DQuantizeWrapper ")));
  const auto total = [](const std::string& summary) {
    const size_t at = summary.rfind("\ntotal");
    std::string line = summary.substr(at, summary.find('\n', at + 1) - at);
    std::erase(line, ' ');
    return line;
  };
  EXPECT_EQ(total(text), total(model.summary()));
}

TEST(QuantizedClone, IsEqualAndIndependent) {
  const Model model = calibrated_quickstart();
  const Tensor x = noise({9, 8, 6, 1});
  Model copy = model.clone();
  EXPECT_EQ(names(copy), names(model));
  EXPECT_EQ(scales(copy), scales(model));
  EXPECT_EQ(weight_bits(copy), weight_bits(model));
  const auto answer = bits(model.predict(x));
  EXPECT_EQ(bits(copy.predict(x)), answer);
  shake(copy, 3);
  quantizer(copy, "image")->set_scale(9);
  disable_fake_quant(copy);
  EXPECT_EQ(bits(model.predict(x)), answer);
}

TEST(QuantizedClone, KeepsSwitches) {
  Model model = calibrated_quickstart();
  quantizer(model, "flatten")->set_enabled(false);
  EXPECT_EQ(switches(model.clone()), switches(model));
}

TEST(QuantizedClone, KeepsQuantizersShared) {
  const SymbolicTensor x = input({3}, "x");
  const Model model({x}, {Dense({.units = 2, .name = "a"})(x),
                          Dense({.units = 2, .name = "b"})(x)});
  const Model quantized = quantize_model(model);
  const Model copy = quantized.clone();
  EXPECT_EQ(quantizers(copy).size(), 3u);
  const auto shared = wrapper(copy, "quant_a").activations()[0].quantizer;
  EXPECT_EQ(wrapper(copy, "quant_b").activations()[0].quantizer, shared);
  EXPECT_NE(wrapper(quantized, "quant_a").activations()[0].quantizer, shared);
}

class QuantizedPredictOf : public ::testing::TestWithParam<int64_t> {};

TEST_P(QuantizedPredictOf, ImagesMatchesTheWholeBatchBitForBit) {
  const ThreadCountGuard restored;
  const Model model = calibrated_quickstart();
  const Tensor x = noise({GetParam(), 8, 6, 1}, 9);
  set_num_threads(1);
  const auto expected = [&] {
    const NoGradGuard no_grad;
    return bits(model(Variable(x)));
  }();
  EXPECT_EQ(bits(model.predict(x)), expected);
  set_num_threads(2);
  EXPECT_EQ(bits(model.predict(x)), expected);
}

INSTANTIATE_TEST_SUITE_P(QuantizeModel, QuantizedPredictOf,
                         ::testing::Values(1, 7, 8, 9, 40));

}  // namespace
}  // namespace octet::quant
