// insert_qdq(): from matches to a model with wrappers.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pattern_support.h"

namespace octet::quant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

/// The text of the E with which the matches are refused, after an edit.
template <class E, class Edit>
std::string refusal(Edit edit, const QuantConfig& config = {}) {
  TransformResult result = transform(block());
  edit(result.matches);
  return error_of<E>(
      [&] { (void)plan_of_matches(result.model, result.matches, config); });
}

template <class E>
std::string refusal_of(const QuantConfig& config) {
  return refusal<E>([](auto&) {}, config);
}

TEST(InsertQdq, WritesRuleAndRationaleOfEachPoint) {
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

TEST(InsertQdq, GivesReadersOfOneTensorOneQuantizer) {
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

TEST(InsertQdq, GivesAModelThatCanBeCopied) {
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

TEST(InsertQdq, SharesAPoolsOutputWithItsReader) {
  TransformResult result = transform(block());
  // The Dense layer of 3 units was skipped as too small.
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

TEST(InsertQdq, TakesEditedPoints) {
  TransformResult result = transform(block());
  std::erase_if(result.match("pool").qdq_points, [](const MatchPoint& point) {
    return point.point == PatternPoint::output;
  });
  result.match("conv1").qdq_points.clear();
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_EQ(wrapper(q, "quant_pool").activations().size(), 1u);
  EXPECT_EQ(as_wrapper(q.layer("conv1")), nullptr);
}

TEST(InsertQdq, TakesBitsAndGranularity) {
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

TEST(InsertQdq, QuantizesEveryWeightThatTheWrapperOfALayerNames) {
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

TEST(InsertQdq, RefusesWhatTensorrtDoesNotTake) {
  EXPECT_THAT(
      refusal_of<UnsupportedError>({.activation = {.per_channel = true}}),
      HasSubstr("activation: expected one scale per tensor, got int8 "
                "[-128,127] per channel fixed"));
  EXPECT_THAT(
      refusal_of<UnsupportedError>({.activation = {.rule = ScaleRule::live}}),
      HasSubstr("activation: expected one scale per tensor"));
  for (const int bits : {-1, 0, 1, 9, 16}) {
    EXPECT_THAT(
        refusal_of<ValueError>({.weight = {.bits = bits}}),
        HasSubstr(fmt::format("weight: expected bits in [2,8], got {}", bits)));
    EXPECT_THAT(refusal_of<ValueError>({.activation = {.bits = bits}}),
                HasSubstr("activation: expected bits"));
  }
}

TEST(InsertQdq, RefusesAClassThatDoesNotExist) {
  EXPECT_THAT(
      refusal_of<NotFoundError>(
          {.skip_weight_quant_for = {"LayerNormalisation"}}),
      HasSubstr("skip_weight_quant_for: expected layer classes, got "
                "'LayerNormalisation'; did you mean 'LayerNormalization'"));
  EXPECT_THAT(refusal_of<NotFoundError>({.skip_weight_quant_for = {""}}),
              HasSubstr("got ''"));
}

TEST(InsertQdq, RefusesLayersThatTheModelDoesNotHave) {
  EXPECT_THAT(refusal<NotFoundError>(
                  [](auto& matches) { matches[0].layers[0] = "conv3"; }),
              AllOf(HasSubstr("match ConvBNReLU of conv3, relu1: expected "
                              "layers of model 'block', got 'conv3'"),
                    HasSubstr("conv1")));
}

TEST(InsertQdq, RefusesMatchesThatDoNotFitTheModel) {
  const auto text = [](auto edit) { return refusal<ValueError>(edit); };
  EXPECT_THAT(text([](auto& m) { std::swap(m[0].layers[1], m[1].layers[3]); }),
              HasSubstr("match ConvBNReLU of conv1, relu2: expected 'relu2' to "
                        "read 'conv1' in model 'block'"));
  EXPECT_THAT(text([](auto& m) { m.push_back(m[1]); }),
              HasSubstr("expected layers of no other match, got 'conv2', which "
                        "is in match ConvBNAddReLU of conv2, norm, sum, "
                        "relu2"));
  EXPECT_THAT(text([](auto& m) { m[0].layers.clear(); }),
              HasSubstr("match ConvBNReLU: expected layers, got none"));
  EXPECT_THAT(text([](auto& m) { m[0].qdq_points[0].layer = "dense"; }),
              HasSubstr("expected points at its layers, got one at 'dense'"));
  EXPECT_THAT(text([](auto& m) { m[1].qdq_points[1].site.index = 2; }),
              HasSubstr("expected an input of 'sum' in [0,2), got 2"));
  EXPECT_THAT(text([](auto& m) { m[1].qdq_points[1].site.index = -1; }),
              HasSubstr("expected an input of 'sum' in [0,2), got -1"));
  EXPECT_THAT(
      text([](auto& m) { m[0].qdq_points.push_back(m[0].qdq_points[0]); }),
      HasSubstr("expected each point once, got input 0 of 'conv1'"));
  EXPECT_THAT(text([](auto& m) {
                m[0].qdq_points[0].site = QdqSite::weight("kernel");
              }),
              HasSubstr("expected points around layers, got the weight"));
}

TEST(InsertQdq, RefusesToQuantizeTwiceOrNothing) {
  TransformResult result = transform(block());
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_THAT(
      error_of<ValueError>([&] { (void)insert_qdq(q, result.matches); }),
      HasSubstr("expected a float model, got 'block'"));
  EXPECT_THAT(error_of<ValueError>([&] { (void)transform(q); }),
              HasSubstr("transform: expected a float model, got 'block'"));
  for (PatternMatch& match : result.matches) match.apply = false;
  EXPECT_THAT(error_of<ValueError>(
                  [&] { (void)insert_qdq(result.model, result.matches); }),
              HasSubstr("expected matches with points to apply to 'block', "
                        "got none"));
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

TEST(PlaceByPatterns, GivesThePlanWithNotesInTheModelsOrder) {
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
  // What it places can be applied.
  EXPECT_EQ(
      activation_quantizers(apply(placed.placement.plan, placed.model)).size(),
      6u);
}

}  // namespace
}  // namespace octet::quant
