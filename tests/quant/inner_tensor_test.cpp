// The intermediate tensor of a SeparableConv2D is quantized together with the
// layer's input; otherwise the second convolution would have INT8 weights and
// float inputs.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const Shape kInnerImage{6, 5, 3};

Model separable() {
  const SymbolicTensor x = input(kInnerImage, "x");
  Model model(x, SeparableConv2D({.filters = 4,
                                  .depth_multiplier = 2,
                                  .activation = "relu",
                                  .name = "sep"})(x));
  shake(model);
  return model;
}

Dataset data() { return samples(20, kInnerImage); }

Model calibrated_copy(const Model& model) {
  Model quantized = quantize_model(model);
  calibrate(quantized, data(), {.method = Calibration::max});
  return quantized;
}

/// Returns the output of the layer's first convolution.
Variable between(const Variable& x, const Variable& depthwise_kernel) {
  return depthwise_conv2d(x, depthwise_kernel);
}

TEST(InnerTensor, IsPlannedBetweenInputAndWeights) {
  const Model model = separable();
  const QdqPlan plan = plan_for(model);
  std::vector<std::string> sites;
  for (const QdqPoint& point : plan.points) {
    sites.push_back(to_string(point.site));
    EXPECT_EQ(point.rule, "P01");
  }
  EXPECT_THAT(sites, ElementsAre("input 0", "inner depthwise",
                                 "depthwise_kernel", "pointwise_kernel"));
  EXPECT_EQ(plan.points[1].group, "sep/depthwise");
  EXPECT_EQ(plan.points[1].config, activation_quantizer());
  EXPECT_THAT(lines_of(plan.to_string()).at(1),
              StartsWith("sep  inner depthwise "));
  EXPECT_EQ(count_pairs(plan, model),
            (PairCount{.activations = 2, .weights = 2, .shared = 4}));
  EXPECT_EQ(plan_from_config(to_config(plan)), plan);
  EXPECT_EQ(plan_of(quantize_model(model)), plan);
}

TEST(InnerTensor, IsRequestedTogetherWithTheInput) {
  const auto sites = [](bool data, bool weights) {
    QuantizationSpec spec;
    spec.add("sep", {.quantize_input = data, .quantize_weight = weights});
    std::vector<std::string> result;
    for (const QdqPoint& point : plan_for(separable(), {.spec = spec}).points) {
      result.push_back(to_string(point.site));
    }
    return result;
  };
  EXPECT_THAT(sites(true, false), ElementsAre("input 0", "inner depthwise"));
  EXPECT_THAT(sites(false, true),
              ElementsAre("depthwise_kernel", "pointwise_kernel"));
  EXPECT_THAT(sites(false, false), IsEmpty());
}

TEST(InnerTensor, IsCalibratedOnItsOwnRange) {
  const Model model = separable();
  const Model quantized = calibrated_copy(model);
  const Tensor x = data().batch(0, 20).input();
  const Variable y = between(
      Variable(x), model.layer("sep").parameter("depthwise_kernel").variable);
  EXPECT_EQ(quantizer(quantized, "sep/depthwise")->scale(),
            scale_of_range(absmax(y.value()), 127));
  EXPECT_NE(quantizer(quantized, "sep/depthwise")->scale(),
            quantizer(quantized, "x")->scale());
}

TEST(InnerTensor, IsRoundedInTrainingAndInInference) {
  const Model model = separable();
  Model quantized = calibrated_copy(model);
  const Layer& layer = quantized.layer("quant_sep");
  const auto rounded = [&](const std::string& name) {
    const Parameter& p = layer.parameter(name);
    return fake_quantize(p.variable,
                         quantizer(quantized, "sep/" + name)
                             ->weight_qparams(p.variable, p.channel_axis));
  };
  const auto rounded_to = [&](const Variable& x, const std::string& name) {
    return (*quantizer(quantized, name))(x);
  };
  const Tensor x = noise({3, 6, 5, 3}, 7);
  const Variable inner = rounded_to(
      between(rounded_to(Variable(x), "x"), rounded("depthwise_kernel")),
      "sep/depthwise");
  const Variable y = relu(bias_add(conv2d(inner, rounded("pointwise_kernel")),
                                   layer.parameter("bias").variable));
  EXPECT_EQ(bits(quantized.predict(x)), bits(y));
  EXPECT_EQ(bits(quantized(Variable(x), Mode::training)), bits(y));
  disable_fake_quant(quantized);
  EXPECT_EQ(bits(quantized.predict(x)), bits(model.predict(x)));
}

TEST(InnerTensor, IsPreservedInCopiesAndStates) {
  const Model quantized = calibrated_copy(separable());
  const Tensor x = noise({3, 6, 5, 3}, 7);
  const auto expected = bits(quantized.predict(x));
  EXPECT_EQ(bits(quantized.clone().predict(x)), expected);
  const ModelState state = state_of(quantized);
  Model again = initial_model(state);
  restore(again, state);
  EXPECT_EQ(plan_of(again), plan_of(quantized));
  EXPECT_EQ(bits(again.predict(x)), expected);
}

TEST(InnerTensor, KeepsItsQuantizerInFolding) {
  const SymbolicTensor x = input(kInnerImage, "x");
  const SymbolicTensor y =
      SeparableConv2D({.filters = 4, .use_bias = false, .name = "sep"})(x);
  Model model(x, BatchNormalization({.name = "bn"})(y));
  shake(model);
  const Model quantized = calibrated_copy(model);
  const Model folded = fold_batch_norm(quantized);
  EXPECT_EQ(folded.nodes().size(), 2u);
  EXPECT_EQ(quantizer(folded, "sep/depthwise")->scale(),
            quantizer(quantized, "sep/depthwise")->scale());
  const Tensor images = noise({3, 6, 5, 3}, 7);
  const auto before = values(quantized.predict(images));
  const auto after = values(folded.predict(images));
  // Same quantized values; the affine is rounded differently.
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_NEAR(after[i], before[i], 1e-5f);
  }
}

TEST(InnerTensor, FollowsFromThePointsOfAPattern) {
  const Model model = separable();
  std::vector<Pattern> patterns = tensorrt_patterns();
  patterns.insert(patterns.begin(),
                  {.name = "Separable",
                   .steps = {{.classes = {"SeparableConv2D"}}},
                   .qdq_points = {PatternPoint::input}});
  const TransformResult result = transform(model, patterns);
  std::vector<std::string> sites;
  for (const PlacedQuantizer& placed :
       activation_quantizers(insert_qdq(result.model, result.matches))) {
    sites.push_back(to_string(placed.site));
  }
  EXPECT_THAT(sites, UnorderedElementsAre("input 0", "inner depthwise"));
}

TEST(InnerTensor, IsRefusedForLayersWithoutIt) {
  const auto refusal = [](const Model& model, QdqPoint point) {
    QdqPlan plan;
    plan.points.push_back(std::move(point));
    return failure_of<Error>([&] { (void)apply(plan, model); });
  };
  const auto inner = [](const std::string& layer, const std::string& tensor) {
    return QdqPoint{.layer = layer,
                    .site = QdqSite::intermediate(tensor),
                    .config = activation_quantizer(),
                    .rule = "user"};
  };
  EXPECT_EQ(refusal(separable(), inner("sep", "pointwise")),
            (Failure{"unknown_name", "SeparableConv2D 'sep'"}));
  EXPECT_EQ(refusal(doubling(), inner("first", "depthwise")),
            (Failure{"unknown_name", "Dense 'first'"}));
  QdqPoint live = inner("sep", "depthwise");
  live.config.rule = ScaleRule::live;
  EXPECT_EQ(refusal(separable(), live),
            (Failure{"unsupported_value", "plan point 'sep' inner depthwise"}));

  QdqPlan shared = plan_for(separable());
  shared.points[1].group = std::string("x");
  EXPECT_EQ(failure_of<ValueError>([&] { (void)apply(shared, separable()); }),
            (Failure{"invalid_value", "plan group 'x'"}));
}

TEST(InnerTensor, SharesAQuantizerInAllCallsOfALayer) {
  const SymbolicTensor x = input({8, 8, 3}, "x");
  const SeparableConv2D shared({.filters = 3, .name = "sep"});
  const Model model(x, shared(shared(x)));
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(count_pairs(plan, model),
            (PairCount{.activations = 4, .weights = 2, .shared = 6}));
  EXPECT_EQ(quantizers(quantize_model(model)).size(), 4u);
}

}  // namespace
}  // namespace octet::quant
