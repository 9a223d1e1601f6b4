// transform() for users: custom patterns and conversions, the report, edits and
// errors.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "pattern_support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// conv, depthwise, conv, each with ReLU.
Model separable() {
  const SymbolicTensor x = input({8, 6, 3}, "image");
  SymbolicTensor y = relu(conv(x, "conv1"), "relu1");
  y = relu(DepthwiseConv2D({.name = "deep"})(y), "relu2");
  return Model(x, relu(conv(y, "conv2"), "relu3"), {.name = "separable"});
}

std::vector<std::string> outline_of(const Model& model,
                                    const std::vector<Pattern>& patterns) {
  return outline(transform(model, patterns).matches);
}

/// A pattern of a single step.
Pattern one_step(PatternStep step) {
  return {.name = "Mine", .steps = {std::move(step)}};
}

template <class E>
Failure refusal(const Pattern& pattern) {
  return failure_of<E>([&] { (void)transform(separable(), {pattern}); });
}

TEST(Transform, TriesPatternsInTheirOrder) {
  const std::vector<std::string> found = outline_of(
      separable(), with_first({.name = "FloatDepthwise",
                               .steps = {{.classes = {"DepthwiseConv2D"}}},
                               .rationale = "memory-bound"}));
  EXPECT_THAT(found,
              ElementsAre("ConvBNReLU conv1 relu1", "FloatDepthwise deep",
                          "ConvBNReLU conv2 relu3"));
}

TEST(Transform, KeepsLayersOfAPatternWithoutPointsFloat) {
  const TransformResult result = transform(
      separable(), with_first({.name = "FloatDepthwise",
                               .steps = {{.classes = {"DepthwiseConv2D"}}}}));
  const Model q = insert_qdq(result.model, result.matches);
  EXPECT_EQ(as_wrapper(q.layer("deep")), nullptr);
  EXPECT_EQ(weight_quantizers(q).size(), 2u);
  EXPECT_EQ(activation_quantizers(q).size(), 2u);
}

TEST(Transform, MatchesRolesAndCustomConditions) {
  const auto wide = [](const PatternLayer& layer) {
    return layer.node.shape[-1] > 3;
  };
  EXPECT_THAT(
      outline_of(
          separable(),
          {{.name = "Mine",
            .steps = {{.roles = {LayerRole::linear},
                       .only_if = {"more than 3 channels", wide}},
                      {.roles = {LayerRole::activation}, .optional = true}}}}),
      ElementsAre("Mine conv1 relu1", "Mine deep relu2", "Mine conv2 relu3"));
  const auto reads_the_image = [](const PatternLayer& layer) {
    return layer.node.inputs[0].node->inputs.empty();
  };
  EXPECT_THAT(outline_of(separable(),
                         {one_step({.classes = {"Convolution2D"},
                                    .only_if = {"first", reads_the_image}})}),
              ElementsAre("Mine conv1"));
}

TEST(Transform, MatchesAnOptionalStepOnlyIfItsConditionHolds) {
  const auto never = [](const PatternLayer&) { return false; };
  EXPECT_THAT(
      outline_of(separable(), {{.name = "Mine",
                                .steps = {{.classes = {"Conv2D"}},
                                          {.classes = {"ReLU"},
                                           .optional = true,
                                           .only_if = {"never", never}}}}}),
      ElementsAre("Mine conv1", "Mine conv2"));
}

TEST(Transform, PassesConsumersToConditions) {
  std::vector<std::string> seen;
  const auto look = [&](const PatternLayer& layer) {
    for (const GraphNode* consumer : layer.consumers) {
      seen.push_back(layer.node.layer->name() + " " + consumer->layer->name());
    }
    return true;
  };
  (void)transform(
      separable(),
      {one_step({.classes = {"Conv2D"}, .only_if = {"any", look}})});
  EXPECT_THAT(seen, ElementsAre("conv1 relu1", "conv2 relu3"));
}

TEST(Transform, SkipsAndReportsConditionsThatThrow) {
  const auto throws = [](const PatternLayer& layer) -> bool {
    if (layer.node.layer->name() == "conv2") throw std::runtime_error("oops");
    return layer.node.layer->parameter("no such").trainable;
  };
  const TransformResult result = transform(
      separable(), with_first(one_step(
                       {.classes = {"Conv2D"}, .only_if = {"mine", throws}})));
  EXPECT_THAT(outline(result.matches),
              ElementsAre("ConvBNReLU conv1 relu1", "ConvBNReLU deep relu2",
                          "ConvBNReLU conv2 relu3"));
  ASSERT_EQ(result.report.skipped.size(), 2u);
  EXPECT_EQ(result.report.skipped[0].name, "Mine");
  EXPECT_EQ(result.report.skipped[0].layer, "conv1");
  EXPECT_THAT(result.report.skipped[0].reason, StartsWith("'mine' threw: "));
  EXPECT_EQ(result.report.skipped[1],
            (TransformReport::Skipped{"Mine", "conv2", "'mine' threw: oops"}));
}

TEST(Transform, SkipsMatchesWhoseConditionThrows) {
  const auto throws = [](const PatternLayer&) -> bool {
    throw std::runtime_error("oops");
  };
  PatternStep step{.classes = {"Conv2D"}};
  step.skip_if = {"small", throws};
  const TransformResult result = transform(separable(), {one_step(step)});
  EXPECT_THAT(outline(result.matches),
              ElementsAre("skipped: Mine conv1", "skipped: Mine conv2"));
  EXPECT_EQ(result.matches[0].skip_reason, "'small' threw: oops");
}

TEST(Transform, ReportsPointsThatALayerLacks) {
  const TransformResult result = transform(
      separable(), {{.name = "Mine",
                     .steps = {{.classes = {"DepthwiseConv2D"}}},
                     .qdq_points = {PatternPoint::query, PatternPoint::key}}});
  EXPECT_THAT(result.matches, IsEmpty());
  const auto at_key = ::testing::AllOf(
      ::testing::Field(&TransformReport::Skipped::layer, "deep"),
      ::testing::Field(&TransformReport::Skipped::reason, HasSubstr("KEY")));
  EXPECT_THAT(result.report.skipped, Contains(at_key));
}

TEST(Transform, PlacesTheInputPointAtAllInputsOfTheFirstLayer) {
  const SymbolicTensor x = input({4, 4, 2}, "x");
  const Model model(x, Concatenate({.name = "both"})(
                           {relu(x, "a"), Activation("tanh", "b")(x)}));
  const TransformResult result =
      transform(model, {{.name = "Mine",
                         .steps = {{.classes = {"Concatenate"}}},
                         .qdq_points = {PatternPoint::input}}});
  EXPECT_THAT(points(result.matches.at(0)),
              ElementsAre("INPUT both input 0", "INPUT both input 1"));
}

TEST(Transform, MatchesNoModelInput) {
  const TransformResult result =
      transform(separable(), {{.name = "Mine",
                               .steps = {{.classes = {"InputLayer"}}},
                               .qdq_points = {PatternPoint::output}}});
  EXPECT_THAT(result.matches, IsEmpty());
}

TEST(Transform, PlacesADuplicatePointOnce) {
  const TransformResult result =
      transform(separable(),
                {{.name = "Mine",
                  .steps = {{.classes = {"DepthwiseConv2D"}}},
                  .qdq_points = {PatternPoint::input, PatternPoint::query}}});
  EXPECT_THAT(points(result.matches.at(0)), ElementsAre("INPUT deep input 0"));
}

TEST(Transform, LetsTheUserApplySkippedMatches) {
  const SymbolicTensor x = input({8}, "x");
  TransformResult result =
      transform(Model(x, Dense({.units = 4, .name = "d"})(x)));
  EXPECT_FALSE(result.matches[0].apply);
  EXPECT_EQ(result.matches[0].skip_reason, "K*N/(K+N) < 256: as fast in FP16");
  EXPECT_THROW((void)insert_qdq(result.model, result.matches), ValueError);
  result.match("d").apply = true;
  EXPECT_EQ(
      activation_quantizers(insert_qdq(result.model, result.matches)).size(),
      1u);
}

TEST(Transform, FindsTheMatchOfALayer) {
  TransformResult result = transform(separable());
  EXPECT_EQ(result.match("relu2").key(), "relu2");
  EXPECT_EQ(&result.match("deep"), &result.match("relu2"));
  EXPECT_EQ(failure_of<NotFoundError>([&] { (void)result.match("conv3"); }),
            (Failure{"unknown_name", "layer 'conv3'"}));
}

TEST(Transform, LeavesTheModelUnchanged) {
  const Model model = separable();
  const auto weights = weight_bits(model);
  const auto layers = names(model);
  const TransformResult result = transform(model);
  shake(result.model, 77);
  EXPECT_EQ(weight_bits(model), weights);
  EXPECT_EQ(names(model), layers);
}

TEST(Transform, PrintsItsReportAsATable) {
  const SymbolicTensor x = input({1, 1, 8}, "x");
  SymbolicTensor y = Flatten({.name = "flat"})(x);
  y = Dense({.units = 8, .name = "d1"})(y);
  const Model model({x}, {Dense({.units = 8, .name = "d2"})(y), y});
  std::vector<Pattern> patterns = tensorrt_patterns();
  std::erase_if(patterns, [](const Pattern& p) {
    return p.name != "Linear" && p.name != "ConvBN";
  });
  const TransformResult result = transform(model, patterns);
  EXPECT_EQ(result.report.to_string(),
            "pattern  applied  skipped\n"
            "ConvBN         0        0\n"
            "Linear         0        2\n"
            "Linear   K*N/(K+N) < 256: as fast in FP16: d1, d2\n");
  const std::string text = transform(zoo::resnet8()).report.to_string();
  EXPECT_THAT(lines_of(text), Contains(StartsWith("FlattenDenseToConv1x1")));
}

TEST(Transform, NamesOnlyAFewLayers) {
  const SymbolicTensor x = input({4, 4, 2}, "x");
  SymbolicTensor y = x;
  for (int i = 1; i <= 4; ++i) {
    y = Conv2DTranspose({.filters = 2, .name = fmt::format("t{}", i)})(y);
  }
  EXPECT_THAT(lines_of(transform(Model(x, y)).report.to_string()),
              Contains(EndsWith(": t1, t2, t3, ... (4 in all)")));
}

TEST(Transform, RefusesIncompletePatterns) {
  const auto refused = [](const Pattern& pattern) {
    return refusal<ValueError>(pattern);
  };
  EXPECT_EQ(refused({.name = "", .steps = {{.classes = {"Add"}}}}),
            (Failure{"missing_value", "pattern"}));
  const Failure no_step{"missing_value", "pattern 'Mine'"};
  EXPECT_EQ(refused({.name = "Mine", .steps = {}}), no_step);
  EXPECT_EQ(refused(one_step({.classes = {"ReLU"}, .optional = true})),
            no_step);
  const Failure incomplete{"missing_value", "pattern step"};
  const Failure empty = refused(one_step({}));
  EXPECT_EQ(empty, incomplete);
  EXPECT_THAT(empty.context, ElementsAre("in step 0", "in pattern 'Mine'"));
  EXPECT_EQ(refusal<NotFoundError>(one_step({.classes = {"Conv3D"}})),
            (Failure{"unknown_name", "pattern step"}));
  EXPECT_THROW(
      (void)transform(separable(), {one_step({.activations = {"rely"}})}),
      ValueError);
  EXPECT_EQ(refused(one_step({.classes = {"Dropout"}})),
            (Failure{"invalid_value", "pattern step"}));
  EXPECT_EQ(refused(one_step({.classes = {"Add"}, .only_if = {"words", {}}})),
            incomplete);
  const auto yes = [](const PatternLayer&) { return true; };
  EXPECT_EQ(refused(one_step({.classes = {"Add"}, .skip_if = {"", yes}})),
            incomplete);
  const Pattern mine = one_step({.classes = {"Add"}});
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)transform(separable(), {mine, mine});
            }),
            (Failure{"duplicate_name", "pattern 'Mine'"}));
}

TEST(Transform, MatchesNothingWithoutPatterns) {
  const TransformResult result = transform(separable(), {});
  EXPECT_THAT(result.matches, IsEmpty());
  EXPECT_EQ(result.report.skipped.size(), 3u);
}

/// Replaces every ReLU by a tanh with another name.
SymbolicTensor tanh_for(const GraphNode& node, Rebuild& rebuild) {
  return Activation("tanh",
                    node.layer->name() + "_tanh")(rebuild.at(node.inputs[0]));
}

TEST(Transform, RunsCustomConversions) {
  const Conversion mine{
      .name = "Tanh",
      .rationale = "a test",
      .convert = [](const GraphNode& node,
                    Rebuild& rebuild) -> std::optional<SymbolicTensor> {
        if (node.layer->class_name() != "ReLU") return std::nullopt;
        return tanh_for(node, rebuild);
      }};
  const TransformResult result =
      transform(separable(), tensorrt_patterns(), {mine});
  EXPECT_THAT(names(result.model),
              ElementsAre("image", "conv1", "relu1_tanh", "deep", "relu2_tanh",
                          "conv2", "relu3_tanh"));
  EXPECT_THAT(result.report.conversions,
              ElementsAre(TransformReport::Converted{"Tanh", "relu1"},
                          TransformReport::Converted{"Tanh", "relu2"},
                          TransformReport::Converted{"Tanh", "relu3"}));
}

TEST(Transform, SkipsAndReportsAConversionThatThrows) {
  std::vector<Conversion> conversions = tensorrt_conversions();
  conversions.insert(conversions.begin(),
                     {.name = "Mine",
                      .rationale = "a test",
                      .convert = [](const GraphNode& node,
                                    Rebuild&) -> std::optional<SymbolicTensor> {
                        if (node.layer->name() == "deep") return node.inputs[0];
                        return std::nullopt;
                      }});
  const TransformResult result =
      transform(separable(), tensorrt_patterns(), conversions);
  ASSERT_EQ(result.report.skipped.size(), 1u);
  EXPECT_EQ(result.report.skipped[0].name, "Mine");
  EXPECT_EQ(result.report.skipped[0].layer, "deep");
  EXPECT_THAT(result.report.skipped[0].reason, HasSubstr("Rebuild::at"));
  EXPECT_EQ(result.matches.size(), 3u);
}

TEST(Transform, RefusesEndlessConversions) {
  const Conversion endless{
      .name = "Endless",
      .rationale = "a test",
      .convert = [](const GraphNode& node,
                    Rebuild& rebuild) -> std::optional<SymbolicTensor> {
        if (node.inputs[0].node->layer->class_name() != "InputLayer") {
          return std::nullopt;
        }
        return rebuild.call(node, {rebuild.at(node.inputs[0])});
      }};
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)transform(separable(), tensorrt_patterns(), {endless});
            }),
            (Failure{"invalid_state", "conversion 'Endless'"}));
}

TEST(Transform, RefusesIncompleteConversions) {
  const auto refused = [](const Conversion& conversion) {
    return failure_of<ValueError>(
        [&] { (void)transform(separable(), {}, {conversion}); });
  };
  EXPECT_EQ(refused({.name = "Mine", .rationale = "", .convert = {}}),
            (Failure{"missing_value", "conversion 'Mine'"}));
  EXPECT_EQ(refused({.name = "", .rationale = "", .convert = tanh_for}),
            (Failure{"missing_value", "conversion"}));
}

}  // namespace
}  // namespace octet::quant
