// Numbers of folding: quantized values, scales, weights and outputs.
// fold_batch_norm_graph_test.cpp tests which normalizations fold.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "folding.h"

namespace octet::quant {
namespace {

using ::testing::HasSubstr;

class FoldOf : public ::testing::TestWithParam<LinearKind> {};

INSTANTIATE_TEST_SUITE_P(, FoldOf, ::testing::ValuesIn(linear_kinds()),
                         [](const auto& kind) { return kind.param.name; });

/// Expected quantized values after folding: the sign of gamma applied, 0 for
/// gamma 0.
std::vector<int> expected_codes(const Model& quantized,
                                const LinearKind& kind) {
  const auto factor = factor_and_shift(quantized, "bn").factor;
  std::vector<int> codes = codes_of(quantized, "quant_linear", kind.kernel);
  for (size_t i = 0; i < codes.size(); ++i) {
    const double f = factor[i / kind.inner % kind.channels];
    codes[i] *= f < 0 ? -1 : f > 0 ? 1 : 0;
  }
  return codes;
}

TEST_P(FoldOf, KeepsQuantizedValues) {
  const LinearKind& kind = GetParam();
  for (const bool per_channel : {true, false}) {
    for (const ScaleRule rule : {ScaleRule::live, ScaleRule::fixed}) {
      const Model model = quantized_and_calibrated(
          normalized(kind),
          {.narrow_range = true, .per_channel = per_channel, .rule = rule});
      const auto expected = expected_codes(model, kind);
      const Model folded = fold_batch_norm(model);
      EXPECT_EQ(codes_of(folded, "quant_linear", kind.folded_kernel), expected);
      // Also by the library's arithmetic, from the stored weights.
      const auto& w = wrapper(folded, "quant_linear");
      const Parameter& p = w.inner().parameter(kind.folded_kernel);
      const QuantParams qparams =
          quantizer(folded, "linear/" + kind.kernel)
              ->weight_qparams(p.variable, p.channel_axis);
      const Tensor codes = quantize(p.variable.value(), qparams);
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(codes.data<int8_t>()[i], expected[i]) << i;
      }
      EXPECT_EQ(bits(dequantize(codes, qparams)), bits(p.variable));
    }
  }
}

TEST_P(FoldOf, MultipliesTheScalesWithTheFactor) {
  const LinearKind& kind = GetParam();
  const Model model = quantized_and_calibrated(normalized(kind));
  const auto& weight = wrapper(model, "quant_linear").weights().back();
  const Parameter& p =
      wrapper(model, "quant_linear").inner().parameter(kind.kernel);
  const auto before = values(
      weight.quantizer->weight_qparams(p.variable, p.channel_axis).scale);
  const auto factor = factor_and_shift(model, "bn").factor;
  const Model folded = fold_batch_norm(model);
  const auto q = quantizer(folded, "linear/" + kind.kernel);
  EXPECT_EQ(q->config().rule, ScaleRule::fixed);
  EXPECT_TRUE(q->config().per_channel);
  EXPECT_TRUE(q->config().narrow_range);
  ASSERT_EQ(q->scales().size(), kind.channels);
  const size_t outputs_a_scale = kind.channels / before.size();
  for (size_t c = 0; c < kind.channels; ++c) {
    const double s = before[c / outputs_a_scale] * std::fabs(factor[c]);
    EXPECT_FLOAT_EQ(q->scales()[c], s == 0 ? 1.0f : static_cast<float>(s));
  }
}

TEST_P(FoldOf, FollowsTheFormulaOfWeightsAndBias) {
  const LinearKind& kind = GetParam();
  for (const bool use_bias : {true, false}) {
    const Model model = normalized(kind, use_bias);
    const auto [factor, shift] = factor_and_shift(model, "bn");
    const Model folded = fold_batch_norm(model);
    const auto before = values(value_of(model, "linear", kind.kernel));
    const auto after = values(value_of(folded, "linear", kind.kernel));
    for (size_t i = 0; i < after.size(); ++i) {
      const double f = factor[i / kind.inner % kind.channels];
      ASSERT_FLOAT_EQ(after[i], static_cast<float>(before[i] * f)) << i;
    }
    const auto bias = values(value_of(folded, "linear", "bias"));
    for (size_t c = 0; c < kind.channels; ++c) {
      const double b =
          use_bias ? double{values(value_of(model, "linear", "bias"))[c]} : 0.0;
      EXPECT_FLOAT_EQ(bias[c], static_cast<float>(b * factor[c] + shift[c]));
    }
  }
}

/// Per channel, the magnitude of the sums in x -> linear -> bn for x and
/// weights in [-1,1).
std::vector<double> magnitudes(const Model& model, const LinearKind& kind) {
  const std::string linear = model.layers()[1]->name();
  const auto [factor, shift] = factor_and_shift(model, "bn");
  const auto bias = values(value_of(model, linear, "bias"));
  const auto mean = values(value_of(model, "bn", "moving_mean"));
  const auto beta = values(value_of(model, "bn", "beta"));
  double sum =
      static_cast<double>(value_of(model, linear, kind.kernel).size()) /
      static_cast<double>(kind.channels);
  if (kind.name == "SeparableConv2D") sum *= 9;  // depthwise kernel
  std::vector<double> result;
  for (size_t c = 0; c < factor.size(); ++c) {
    result.push_back(std::fabs(factor[c]) *
                         (sum + std::fabs(bias[c]) + std::fabs(mean[c])) +
                     std::fabs(beta[c]));
  }
  return result;
}

void expect_near(const Tensor& actual, const Tensor& expected,
                 const std::vector<double>& bounds) {
  ASSERT_EQ(actual.shape(), expected.shape());
  for (size_t i = 0; i < actual.f32().size(); ++i) {
    ASSERT_NEAR(actual.f32()[i], expected.f32()[i], bounds[i % bounds.size()])
        << i;
  }
}

TEST_P(FoldOf, PreservesTheOutputsOfTheQuantizedModel) {
  const LinearKind& kind = GetParam();
  for (const bool per_channel : {true, false}) {
    const Model model =
        quantized_and_calibrated(normalized(kind), {.narrow_range = true,
                                                    .per_channel = per_channel,
                                                    .rule = ScaleRule::live});
    const Tensor x = noise(model.inputs()[0].shape().with(0, 9), 8);
    // Both models multiply the same quantized values, whose sums are exact
    // integers (for a SeparableConv2D, sums of at most 6 rounded products). The
    // rest is rounding of scale, rescaling, factor, shift, bias and sums: fewer
    // than 16 roundings in each model, of half an ulp (2^-24) of at most the
    // sum of all magnitudes.
    std::vector<double> bounds = magnitudes(model, kind);
    for (double& bound : bounds) bound *= 0x1p-19;
    expect_near(fold_batch_norm(model).predict(x), model.predict(x), bounds);
  }
}

TEST_P(FoldOf, PreservesTheOutputsOfTheFloatModel) {
  const LinearKind& kind = GetParam();
  const Model model = normalized(kind);
  const Tensor x = noise(model.inputs()[0].shape().with(0, 9), 8);
  const Model folded = fold_batch_norm(model);
  // As above, with each of fewer than 64 products rounded.
  std::vector<double> bounds = magnitudes(model, kind);
  for (double& bound : bounds) bound *= 0x1p-17;
  expect_near(folded.predict(x), model.predict(x), bounds);
}

/// A 1x1 convolution with its normalization, quantized with the given scales.
Model with_scales(const QuantizerConfig& config,
                  const std::vector<float>& scales,
                  const std::vector<float>& kernel) {
  const SymbolicTensor x = input({2, 2, 1}, "x");
  SymbolicTensor y = Conv2D({.filters = static_cast<int64_t>(kernel.size()),
                             .kernel_size = {1, 1},
                             .name = "linear"})(x);
  const Model model(x, BatchNormalization({.name = "bn"})(y));
  set_value(model, "linear", "kernel", kernel);
  Model result = quantized_and_calibrated(model, config);
  const auto q = quantizer(result, "linear/kernel");
  if (config.per_channel) {
    q->set_scales(scales);
  } else {
    q->set_scale(scales[0]);
  }
  return result;
}

constexpr QuantizerConfig kWide{.per_channel = true};

TEST(FoldBatchNorm, RefusesAValueWithoutOpposite) {
  const Model model = with_scales(kWide, {0.5f, 1}, {-64, 3});
  ASSERT_EQ(codes_of(model, "quant_linear", "kernel"),
            (std::vector<int>{-128, 3}));
  set_value(model, "bn", "gamma", {-1, -1});
  EXPECT_EQ(batch_norm_folds(model),
            (std::vector<BatchNormFold>{
                {"bn", "",
                 "quantized value -128 in channel 0 would become 128, outside "
                 "[-128,127]"}}));
  EXPECT_EQ(names(fold_batch_norm(model)), names(model));
}

TEST(FoldBatchNorm, AcceptsTheLowestValueIfItKeepsItsSign) {
  const Model model = with_scales(kWide, {0.5f, 1}, {-64, 3});
  set_value(model, "bn", "gamma", {1, -1});
  EXPECT_EQ(codes_of(fold_batch_norm(model), "quant_linear", "kernel"),
            (std::vector<int>{-128, -3}));
}

TEST(FoldBatchNorm, KeepsClippedValues) {
  const Model model =
      with_scales({.bits = 4, .narrow_range = true, .per_channel = true},
                  {1, 1, 1}, {100, -100, 6.4f});
  set_value(model, "bn", "gamma", {1, 1, -1});
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(codes_of(folded, "quant_linear", "kernel"),
            (std::vector<int>{7, -7, -6}));
  EXPECT_EQ(quantizer(folded, "linear/kernel")->config().bits, 4);
}

TEST(FoldBatchNorm, SetsTheScaleOfAChannelWithoutRangeToOne) {
  // The first two factors reduce the range below the limit, the third just not.
  const Model model =
      with_scales(kWide, {1e-3f, 1e-3f, 1e-3f}, {0.1f, 0.1f, 0.1f});
  set_value(model, "bn", "gamma", {0, 1e-31f, 1e-28f});
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(codes_of(folded, "quant_linear", "kernel"),
            (std::vector<int>{0, 0, 100}));
  const auto scales = quantizer(folded, "linear/kernel")->scales();
  EXPECT_EQ(scales[0], 1);
  EXPECT_EQ(scales[1], 1);
  EXPECT_GT(scales[2], 0);
  EXPECT_LT(scales[2], 1e-30f);
}

TEST(FoldBatchNorm, LeavesNoNegativeZeros) {
  const Model model = with_scales(kWide, {1, 1}, {0, 0.3f});
  set_value(model, "bn", "gamma", {-1, -1});
  for (const float w :
       values(value_of(fold_batch_norm(model), "quant_linear", "kernel"))) {
    EXPECT_FALSE(std::signbit(w));
  }
}

TEST(FoldBatchNorm, ReportsThatAScaleBecomesPerChannel) {
  const Model model = with_scales({.narrow_range = true}, {0.5f}, {3, -7});
  EXPECT_EQ(to_string(batch_norm_folds(model)),
            "bn -> quant_linear; the weight's scale becomes per channel\n");
}

TEST(FoldBatchNorm, RefusesAWeightWithoutAScale) {
  const Model model =
      quantized(normalized(linear_kinds()[0]), {.narrow_range = true});
  EXPECT_EQ(to_string(batch_norm_folds(model)),
            "bn stays: quantizer 'linear/kernel' is not calibrated\n");
}

/// A float Conv2D with two channels and its normalization.
Model pair_of_layers() {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  SymbolicTensor y = Conv2D({.filters = 2, .name = "conv"})(x);
  Model model(x, BatchNormalization({.name = "bn"})(y));
  shake(model);
  return model;
}

TEST(FoldBatchNorm, RefusesValuesThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  struct {
    const char* layer;
    const char* parameter;
    float value;
    const char* reason;
  } cases[] = {
      {"bn", "moving_variance", -1, "factor or shift in channel 1"},
      {"bn", "moving_mean", infinity, "factor or shift"},
      {"bn", "gamma", std::nanf(""), "factor or shift"},
      {"conv", "kernel", std::nanf(""), "'kernel' of 'conv' is not finite"},
      {"conv", "bias", infinity, "'bias' of 'conv' is not finite"},
      {"conv", "kernel", 1e38f, "weights or bias would not be finite"},
  };
  for (const auto& bad : cases) {
    const Model model = pair_of_layers();
    set_value(model, "bn", "moving_variance", {0, 0});
    set_value(model, "bn", "gamma", {1, 1});
    model.layer(bad.layer)
        .parameter(bad.parameter)
        .variable.mutable_value()[1] = bad.value;
    const auto folds = batch_norm_folds(model);
    EXPECT_EQ(folds[0].into, "");
    EXPECT_THAT(folds[0].reason, HasSubstr(bad.reason));
    EXPECT_EQ(names(fold_batch_norm(model)), names(model));
  }
}

TEST(FoldBatchNorm, KeepsTheNormalizationOfATransposedConvolutionWithGroups) {
  const SymbolicTensor x = input({6, 5, 4}, "x");
  const SymbolicTensor y =
      Conv2DTranspose({.filters = 6, .groups = 2, .name = "up"})(x);
  const Model model(x, BatchNormalization({.name = "bn"})(y));
  EXPECT_EQ(batch_norm_folds(model)[0].into, "");
  EXPECT_EQ(names(fold_batch_norm(model)), names(model));
}

TEST(FoldBatchNorm, SupportsNormalizationWithoutGammaAndBeta) {
  const SymbolicTensor x = input({4}, "x");
  SymbolicTensor y = Dense({.units = 3, .use_bias = false, .name = "d"})(x);
  y = BatchNormalization({.epsilon = 0.5f, .center = false, .scale = false})(y);
  const Model model(x, y);
  set_value(model, "d", "kernel", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  set_value(model, "batch_normalization", "moving_mean", {1, 2, 3});
  // Factors 1, 2 and 0.5.
  set_value(model, "batch_normalization", "moving_variance",
            {0.5f, -0.25f, 3.5f});
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(values(value_of(folded, "d", "kernel")),
            (std::vector<float>{1, 4, 1.5f, 4, 10, 3, 7, 16, 4.5f, 10, 22, 6}));
  EXPECT_EQ(values(value_of(folded, "d", "bias")),
            (std::vector<float>{-1, -4, -1.5f}));
}

TEST(FoldBatchNorm, FoldsConsecutiveNormalizations) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  SymbolicTensor y = Conv2D({.filters = 8, .name = "linear"})(x);
  y = BatchNormalization({.name = "bn"})(y);
  Model model(x, BatchNormalization({.name = "second"})(y));
  shake(model);
  set_hard_statistics(model, "bn");
  const auto [f1, h1] = factor_and_shift(model, "bn");
  const auto [f2, h2] = factor_and_shift(model, "second");
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(names(folded), (std::vector<std::string>{"x", "linear"}));
  for (size_t c = 0; c < 8; ++c) {
    EXPECT_FLOAT_EQ(
        values(value_of(folded, "linear", "bias"))[c],
        static_cast<float>(
            (values(value_of(model, "linear", "bias"))[c] * f1[c] + h1[c]) *
                f2[c] +
            h2[c]));
    EXPECT_FLOAT_EQ(
        values(value_of(folded, "linear", "kernel"))[c],
        static_cast<float>(values(value_of(model, "linear", "kernel"))[c] *
                           f1[c] * f2[c]));
  }
}

}  // namespace
}  // namespace octet::quant
