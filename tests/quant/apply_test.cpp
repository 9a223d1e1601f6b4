#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

/// The full plan of quickstart() after an edit.
template <class Edit>
QdqPlan edited(Edit edit) {
  QdqPlan plan = plan_for(quickstart());
  edit(plan.points);
  return plan;
}

/// Returns the failure of applying the plan.
template <class E>
Failure refusal(const QdqPlan& plan) {
  return failure_of<E>([&] { (void)apply(plan, quickstart()); });
}

TEST(Apply, WrapsTheLayersOfThePlan) {
  const Model model = quickstart();
  const Model quantized = apply(plan_for(model), model);
  EXPECT_EQ(names(quantized),
            (std::vector<std::string>{
                "image", "quant_conv2d", "batch_normalization", "re_lu",
                "max_pooling2d", "flatten", "quant_dense"}));
  EXPECT_EQ(quantized.name(), "quickstart");
  EXPECT_EQ(quantized.layer("quant_conv2d").class_name(),
            "Conv2DQuantizeWrapper");
  EXPECT_EQ(quantized.layer("quant_dense").class_name(),
            "DenseQuantizeWrapper");
  EXPECT_EQ(wrapper(quantized, "quant_dense").inner().name(), "dense");
  EXPECT_EQ(as_wrapper(quantized.layer("re_lu")), nullptr);
}

TEST(Apply, KeepsTheWeights) {
  const Model model = quickstart();
  EXPECT_EQ(weight_bits(apply(plan_for(model), model)), weight_bits(model));
}

TEST(Apply, LeavesTheModelUntouched) {
  const Model model = quickstart();
  const Tensor x = noise({9, 8, 6, 1});
  const auto weights = weight_bits(model);
  const auto layers = names(model);
  const auto answer = bits(model.predict(x));
  Model quantized = apply(plan_for(model), model);
  shake(quantized, 77);
  for (const auto& q : quantizers(quantized)) {
    if (q->config().rule == ScaleRule::fixed) q->set_scale(0.5f);
  }
  (void)quantized(Variable(x), Mode::training).value();
  EXPECT_EQ(weight_bits(model), weights);
  EXPECT_EQ(names(model), layers);
  EXPECT_EQ(bits(model.predict(x)), answer);
}

TEST(Apply, IsDeterministic) {
  const Model model = quickstart();
  const QdqPlan plan = plan_for(model);
  const Model first = apply(plan, model);
  shake(first, 77);
  const Model second = apply(plan, model);
  EXPECT_EQ(weight_bits(second), weight_bits(model));
  EXPECT_EQ(names(second), names(first));
  EXPECT_EQ(plan_of(second), plan_of(first));
  EXPECT_NE(quantizers(first)[0], quantizers(second)[0]);
}

TEST(Apply, OfAnEmptyPlanIsACopy) {
  const Model model = quickstart();
  const Model copy = apply({}, model);
  EXPECT_EQ(names(copy), names(model));
  EXPECT_TRUE(quantizers(copy).empty());
}

TEST(Apply, SharesAQuantizerWithinAGroup) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  const Model model({x}, {Conv2D({.filters = 2, .name = "a"})(x),
                          Conv2D({.filters = 2, .name = "b"})(x)});
  const Model quantized = apply(plan_for(model), model);
  EXPECT_EQ(quantizers(quantized).size(), 3u);
  EXPECT_EQ(wrapper(quantized, "quant_a").activations()[0].quantizer,
            wrapper(quantized, "quant_b").activations()[0].quantizer);
  EXPECT_NE(wrapper(quantized, "quant_a").weights()[0].quantizer,
            wrapper(quantized, "quant_b").weights()[0].quantizer);
}

TEST(Apply, RefusesAnUnknownLayer) {
  EXPECT_EQ(refusal<NotFoundError>(
                edited([](auto& points) { points[0].layer = "conv2"; })),
            (Failure{"unknown_name", "plan point 'conv2'"}));
}

TEST(Apply, RefusesAnUnknownParameter) {
  EXPECT_THROW((void)apply(edited([](auto& points) {
                             points[1].site.parameter = "weights";
                           }),
                           quickstart()),
               NotFoundError);
}

TEST(Apply, RefusesAnInputIndexOutOfRange) {
  for (const int index : {-1, 1, 1000}) {
    EXPECT_EQ(refusal<ValueError>(edited([&](auto& points) {
                points[0].site = QdqSite::input(index);
              })),
              (Failure{"out_of_range",
                       "plan point 'conv2d' input " + std::to_string(index)}));
  }
  EXPECT_EQ(refusal<ValueError>(
                edited([](auto& points) { points[2].layer = "image"; })),
            (Failure{"out_of_range", "plan point 'image' input 0"}));
}

TEST(Apply, RefusesAPointTwice) {
  EXPECT_EQ(refusal<ValueError>(
                edited([](auto& points) { points.push_back(points[0]); })),
            (Failure{"duplicate_name", "plan point 'conv2d' input 0"}));
  EXPECT_EQ(refusal<ValueError>(edited([](auto& points) {
              points.push_back(points[1]);
              points.back().group = "other";
            })),
            (Failure{"duplicate_name", "plan point 'conv2d' kernel"}));
}

TEST(Apply, RefusesAGroupOnSeveralTensors) {
  EXPECT_EQ(refusal<ValueError>(
                edited([](auto& points) { points[2].group = "image"; })),
            (Failure{"invalid_value", "plan group 'image'"}));
}

TEST(Apply, RefusesAGroupOfASharedLayerAndAnother) {
  const SymbolicTensor x = input({3}, "x");
  const Dense shared({.units = 3, .name = "shared"});
  const SymbolicTensor y = shared(ReLU()(shared(x)));
  const Model model(x, Dense({.units = 3, .name = "last"})(y));
  QdqPlan plan = plan_for(model);
  ASSERT_EQ(plan.points[2].layer, "last");
  plan.points[2].group = plan.points[0].group;
  EXPECT_THROW((void)apply(plan, model), ValueError);
}

TEST(Apply, RefusesAGroupOfSeveralConfigurations) {
  const SymbolicTensor x = input({3}, "x");
  const Model model({x}, {Dense({.units = 2, .name = "a"})(x),
                          Dense({.units = 2, .name = "b"})(x)});
  QdqPlan plan = plan_for(model);
  plan.points[2].config.bits = 4;
  EXPECT_EQ(failure_of<ValueError>([&] { (void)apply(plan, model); }),
            (Failure{"invalid_value", "plan point 'b' input 0"}));
}

TEST(Apply, RefusesAWeightInTheGroupOfAnother) {
  EXPECT_EQ(refusal<ValueError>(edited([](auto& points) {
              points[3].group = points[1].group;
            })).code,
            "invalid_value");
  EXPECT_THROW((void)apply(edited([](auto& points) {
                             points[1].config = points[0].config;
                             points[0].group = points[1].group;
                           }),
                           quickstart()),
               ValueError);
}

TEST(Apply, RefusesAnActivationScaleThatIsNotConstant) {
  const Failure not_constant{"unsupported_value",
                             "plan point 'conv2d' input 0"};
  EXPECT_EQ(refusal<UnsupportedError>(edited(
                [](auto& points) { points[0].config.rule = ScaleRule::live; })),
            not_constant);
  EXPECT_EQ(refusal<UnsupportedError>(edited([](auto& points) {
              points[0].config.rule = ScaleRule::live;
              points[0].config.per_channel = true;
            })),
            not_constant);
}

TEST(Apply, RefusesAnInvalidConfiguration) {
  EXPECT_EQ(refusal<ValueError>(
                edited([](auto& points) { points[0].config.bits = 9; })),
            (Failure{"out_of_range", "quantizer 'image'"}));
  EXPECT_THROW((void)apply(edited([](auto& points) {
                             points[0].config.per_channel = true;
                           }),
                           quickstart()),
               UnsupportedError);
}

TEST(Apply, RefusesToWrapAWrapper) {
  const Model model = quickstart();
  const QdqPlan plan = plan_for(model);
  const Model quantized = apply(plan, model);
  QdqPlan again;
  again.points = {plan.points[0]};
  again.points[0].layer = "quant_conv2d";
  EXPECT_EQ(failure_of<ValueError>([&] { (void)apply(again, quantized); }),
            (Failure{"already_quantized", "quantize wrapper"}));
}

TEST(Apply, RefusesADuplicateName) {
  const SymbolicTensor x = input({3});
  SymbolicTensor y = Dense({.units = 3, .name = "d"})(x);
  const Model model(x, ReLU({.name = "quant_d"})(y));
  EXPECT_THROW((void)apply(plan_for(model), model), ValueError);
}

TEST(Apply, AcceptsPointsAtAnyLayer) {
  const Model model = quickstart();
  const QdqPlan plan = plan_by_hand("max_pooling2d", "re_lu");
  const Model quantized = apply(plan, model);
  EXPECT_EQ(quantized.layer("quant_max_pooling2d").class_name(),
            "MaxPooling2DQuantizeWrapper");
  EXPECT_EQ(plan_of(quantized), plan);
}

TEST(Apply, GroupsPointsWithoutAGroupByTheirTensor) {
  const Model model = quickstart();
  const QdqPlan plan = plan_for(model);
  QdqPlan by_hand = plan;
  for (QdqPoint& point : by_hand.points) point.group.clear();
  EXPECT_EQ(plan_of(apply(by_hand, model)), plan);
  EXPECT_EQ(count_pairs(by_hand, model), count_pairs(plan, model));
  by_hand.points[0].site = QdqSite::input(3);
  EXPECT_THROW((void)apply(by_hand, model), ValueError);
}

}  // namespace
}  // namespace octet::quant
