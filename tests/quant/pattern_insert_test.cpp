// insert_qdq(): from matches to a model with wrappers.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pattern_support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// conv1-relu1, then conv2-sum-relu2 with a shortcut from relu1, pool, dense.
Model block() {
  const SymbolicTensor x = input({8, 6, 3}, "image");
  const SymbolicTensor start = relu(conv(x, "conv1"), "relu1");
  SymbolicTensor y = add(start, norm(conv(start, "conv2"), "norm"), "sum");
  y = GlobalAveragePooling2D({.name = "pool"})(relu(y, "relu2"));
  Model model(x, Dense({.units = 3, .name = "dense"})(y), {.name = "block"});
  shake(model);
  return model;
}

/// Returns the failure of planning with edited matches.
template <class E, class Edit>
Failure refusal(Edit edit, const InsertQdqOptions& config = {}) {
  TransformResult result = transform(block());
  edit(result.matches);
  return failure_of<E>(
      [&] { (void)plan_of_matches(result.model, result.matches, config); });
}

template <class E>
Failure refusal_of(const InsertQdqOptions& config) {
  return refusal<E>([](auto&) {}, config);
}

TEST(InsertQdq, SetsRuleAndRationaleOfEachPoint) {
  const TransformResult result = transform(block());
  const QdqPlan plan = plan_of_matches(result.model, result.matches);
  std::vector<std::string> lines;
  for (const QdqPoint& point : plan.points) {
    lines.push_back(fmt::format("{} {}: {}, {}", point.layer,
                                to_string(point.site), point.rule,
                                point.reason));
  }
  const std::string conv =
      "pattern ConvBNReLU, quantize the input; the activation is fused";
  const std::string sum =
      "pattern ConvBNAddReLU, both paths into the Add; the convolution's stays "
      "in the kernel";
  const std::string pool =
      "pattern AdaptiveAvgPool, both sides, so that TensorRT fuses the pool";
  EXPECT_THAT(lines,
              ElementsAre("conv1 input 0: " + conv, "conv1 kernel: " + conv,
                          "conv2 input 0: " + sum, "conv2 kernel: " + sum,
                          "sum input 0: " + sum, "pool input 0: " + pool,
                          "pool output: " + pool));
  EXPECT_EQ(plan.points[0].config, activation_quantizer());
  EXPECT_EQ(plan.points[1].config, weight_quantizer());
}

TEST(InsertQdq, SharesAQuantizerAmongConsumersOfATensor) {
  const TransformResult result = transform(block());
  const Model q = insert_qdq(result.model, result.matches);
  const auto at = [&](const std::string& layer, size_t stub) {
    return wrapper(q, layer).activations()[stub].quantizer;
  };
  EXPECT_EQ(at("quant_conv2", 0), at("quant_sum", 0));
  EXPECT_NE(at("quant_conv2", 0), at("quant_conv1", 0));
  EXPECT_EQ(activation_quantizers(q).size(), 5u);
  EXPECT_EQ(weight_quantizers(q).size(), 2u);
  EXPECT_EQ(count_pairs(plan_of(q), result.model).shared, 4 + 2);
}

TEST(InsertQdq, ReturnsAModelThatCanBeCopied) {
  const SymbolicTensor x = input({8, 6, 3}, "image");
  SymbolicTensor y = ZeroPadding2D({.padding = {1, 1, 1, 1}, .name = "pad"})(x);
  y = GlobalAveragePooling2D({.name = "pool"})(conv(y, "conv"));
  const TransformResult result =
      transform(Model(x, Dense({.units = 3, .name = "dense"})(y)));
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_EQ(q.layer("quant_pad").class_name(), "ZeroPadding2DQuantizeWrapper");
  const Model copy = q.clone();
  EXPECT_EQ(plan_of(copy), plan_of(q));
  EXPECT_EQ(plan_of(q), plan_of_matches(result.model, result.matches));
}

TEST(InsertQdq, SharesAPoolsOutputWithItsConsumer) {
  TransformResult result = transform(block());
  // The Dense layer of 3 units is skipped as too small.
  result.match("dense").apply = true;
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_EQ(wrapper(q, "quant_pool").activations()[1].quantizer,
            wrapper(q, "quant_dense").activations()[0].quantizer);
  EXPECT_EQ(weight_quantizers(q).size(), 3u);
}

TEST(InsertQdq, AppliesEditedMatchesAnewEachTime) {
  TransformResult result = transform(block());
  const QdqPlan whole = plan_of_matches(result.model, result.matches);
  const auto weights = weight_bits(result.model);
  result.match("norm").apply = false;
  const Model without = insert_qdq(result.model, result.matches);
  EXPECT_THAT(names(without),
              ElementsAre("image", "quant_conv1", "relu1", "conv2", "norm",
                          "sum", "relu2", "quant_pool", "dense"));
  result.match("sum").apply = true;
  const Model with = insert_qdq(result.model, result.matches);
  EXPECT_EQ(plan_of(with), whole);
  EXPECT_EQ(weight_bits(with), weights);
  EXPECT_EQ(weight_bits(result.model), weights);
}

TEST(InsertQdq, AppliesEditedPoints) {
  TransformResult result = transform(block());
  std::erase_if(result.match("pool").qdq_points, [](const MatchPoint& point) {
    return point.point == PatternPoint::output;
  });
  result.match("conv1").qdq_points.clear();
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_EQ(wrapper(q, "quant_pool").activations().size(), 1u);
  EXPECT_EQ(as_wrapper(q.layer("conv1")), nullptr);
}

TEST(InsertQdq, AppliesBitsAndGranularity) {
  const TransformResult result = transform(block());
  const QdqPlan plan = plan_of_matches(
      result.model, result.matches,
      {.activation = {.bits = 6},
       .weight = {.bits = 4, .narrow_range = true, .rule = ScaleRule::live}});
  EXPECT_EQ(to_string(plan.points[0].config), "int6 [-32,31] per tensor fixed");
  EXPECT_EQ(to_string(plan.points[1].config), "int4 [-7,7] per tensor live");
}

TEST(InsertQdq, LeavesTheWeightsOfAClassFloat) {
  const TransformResult result = transform(block());
  for (const char* name : {"Conv2D", "Convolution2D"}) {
    const Model q =
        insert_qdq(result.model, result.matches,
                   {.skip_weight_quant_for = {name, "LayerNormalization"}});
    EXPECT_THAT(weight_quantizers(q), IsEmpty());
    EXPECT_EQ(activation_quantizers(q).size(), 5u);
  }
}

TEST(InsertQdq, QuantizesEveryWeightOfAWrapper) {
  const SymbolicTensor x = input({8, 6, 3}, "image");
  const Model model(x, SeparableConv2D({.filters = 2, .name = "s"})(x));
  const TransformResult result = transform(
      model, with_first({.name = "Separable",
                         .steps = {{.classes = {"SeparableConvolution2D"}}},
                         .qdq_points = {PatternPoint::input}}));
  const Model q = insert_qdq(result.model, result.matches);
  std::vector<std::string> weights;
  for (const auto& each : weight_quantizers(q)) {
    weights.push_back(each.site.parameter);
  }
  EXPECT_THAT(weights, ElementsAre("depthwise_kernel", "pointwise_kernel"));
}

TEST(InsertQdq, RefusesConfigurationsThatTensorrtRejects) {
  const Failure not_constant{"unsupported_value",
                             "InsertQdqOptions.activation"};
  EXPECT_EQ(refusal_of<UnsupportedError>({.activation = {.per_channel = true}}),
            not_constant);
  EXPECT_EQ(
      refusal_of<UnsupportedError>({.activation = {.rule = ScaleRule::live}}),
      not_constant);
  for (const int bits : {-1, 0, 1, 9, 16}) {
    EXPECT_EQ(refusal_of<ValueError>({.weight = {.bits = bits}}),
              (Failure{"out_of_range", "InsertQdqOptions.weight"}));
    EXPECT_EQ(refusal_of<ValueError>({.activation = {.bits = bits}}),
              (Failure{"out_of_range", "InsertQdqOptions.activation"}));
  }
}

TEST(InsertQdq, RefusesAnUnknownClass) {
  for (const char* name : {"LayerNormalisation", ""}) {
    EXPECT_EQ(
        refusal_of<NotFoundError>({.skip_weight_quant_for = {name}}),
        (Failure{"unknown_name", "InsertQdqOptions.skip_weight_quant_for"}));
  }
}

TEST(InsertQdq, RefusesUnknownLayers) {
  EXPECT_EQ(refusal<NotFoundError>(
                [](auto& matches) { matches[0].layers[0] = "conv3"; }),
            (Failure{"unknown_name", "match ConvBNReLU of conv3, relu1"}));
}

TEST(InsertQdq, RefusesMatchesThatDoNotFitTheModel) {
  const auto refused = [](auto edit) { return refusal<ValueError>(edit); };
  const std::string first = "match ConvBNReLU of conv1, relu1";
  const std::string second = "match ConvBNAddReLU of conv2, norm, sum, relu2";
  EXPECT_EQ(refused([](auto& m) { std::swap(m[0].layers[1], m[1].layers[3]); }),
            (Failure{"invalid_graph", "match ConvBNReLU of conv1, relu2"}));
  EXPECT_EQ(refused([](auto& m) { m.push_back(m[1]); }),
            (Failure{"duplicate_name", second}));
  EXPECT_EQ(refused([](auto& m) { m[0].layers.clear(); }),
            (Failure{"missing_value", "match ConvBNReLU"}));
  EXPECT_EQ(refused([](auto& m) { m[0].qdq_points[0].layer = "dense"; }),
            (Failure{"unknown_name", first}));
  EXPECT_EQ(refused([](auto& m) { m[1].qdq_points[1].site.index = 2; }),
            (Failure{"out_of_range", second}));
  EXPECT_EQ(refused([](auto& m) { m[1].qdq_points[1].site.index = -1; }),
            (Failure{"out_of_range", second}));
  EXPECT_EQ(
      refused([](auto& m) { m[0].qdq_points.push_back(m[0].qdq_points[0]); }),
      (Failure{"duplicate_name", first}));
  EXPECT_EQ(refused([](auto& m) {
              m[0].qdq_points[0].site = QdqSite::weight("kernel");
            }),
            (Failure{"invalid_value", first}));
}

TEST(InsertQdq, RefusesToQuantizeTwiceOrNothing) {
  TransformResult result = transform(block());
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)insert_qdq(q, result.matches); }),
      (Failure{"already_quantized", "insert_qdq"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)transform(q); }),
            (Failure{"already_quantized", "transform"}));
  for (PatternMatch& match : result.matches) match.apply = false;
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)insert_qdq(result.model, result.matches); }),
            (Failure{"unsupported_model", "insert_qdq"}));
  EXPECT_THROW((void)insert_qdq(result.model, {}), ValueError);
}

TEST(InsertQdq, QuantizesASharedLayerAtItsCalls) {
  const SymbolicTensor x = input({8, 6, 4}, "image");
  const Conv2D shared({.filters = 4, .padding = Padding::same, .name = "c"});
  const TransformResult result = transform(Model(x, shared(shared(x))));
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_EQ(quantizers(q).size(), 2u);
  EXPECT_EQ(plan_of(q).points[0].group, "c/input_0");
}

TEST(PlaceByPatterns, ReturnsThePlanWithNotesInTheModelsOrder) {
  const SymbolicTensor x = input({5, 8}, "x");
  SymbolicTensor y = LayerNormalization({.name = "norm"})(x);
  y = multi_head_attention(y, y, {.num_heads = 2, .key_dim = 4, .name = "a"});
  const Model model(x, Activation("linear", "same")(y));
  const PatternPlacement placed = place_by_patterns(model);
  EXPECT_EQ(placed.model.layers().size(), model.layers().size() - 1);
  const TransformResult result = transform(model);
  EXPECT_EQ(placed.placement.plan,
            plan_of_matches(result.model, result.matches));
  EXPECT_EQ(placed.report, result.report);
  EXPECT_THAT(
      placed.placement.notes,
      ElementsAre(
          PlacementNote{PlacementNote::Kind::skipped, "norm",
                        "pattern LayerNorm",
                        "stays float: INT8 costs accuracy and gains no time"},
          PlacementNote{PlacementNote::Kind::skipped, "a/attention_output",
                        "pattern Linear", "K*N/(K+N) < 256: as fast in FP16"}));
  // The placement can be applied.
  EXPECT_EQ(
      activation_quantizers(apply(placed.placement.plan, placed.model)).size(),
      6u);
}

}  // namespace
}  // namespace octet::quant
