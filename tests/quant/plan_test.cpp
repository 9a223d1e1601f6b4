#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using Strings = std::vector<std::string>;

/// "layer site group" of each point.
Strings outline(const QdqPlan& plan) {
  Strings result;
  for (const QdqPoint& point : plan.points) {
    const std::string site = point.site.kind == SiteKind::input
                                 ? std::to_string(point.site.index)
                                 : point.site.parameter;
    result.push_back(point.layer + " " + site + " " + point.group);
  }
  return result;
}

/// Two convolutions on one tensor, and a third on another.
Model fork() {
  const SymbolicTensor image = input({6, 5, 3}, "image");
  const SymbolicTensor x = ReLU({.name = "relu"})(image);
  const SymbolicTensor a = Conv2D({.filters = 2, .name = "a"})(x);
  const SymbolicTensor b = Conv2D({.filters = 4, .name = "b"})(x);
  const SymbolicTensor c =
      Conv2D({.filters = 1, .kernel_size = {1, 1}, .name = "c"})(b);
  return Model({image}, {a, c});
}

TEST(Place, PlacesPointsAtInputsAndKernelsOfConv2DAndDense) {
  EXPECT_EQ(plan_for(quickstart()).to_string(),
            "conv2d  input 0  int8 [-128,127] per tensor fixed  P01  "
            "data of Conv2D, from image\n"
            "conv2d  kernel   int8 [-127,127] per channel live  P01  "
            "weights of Conv2D, quantized as its data\n"
            "dense   input 0  int8 [-128,127] per tensor fixed  P01  "
            "data of Dense, from flatten\n"
            "dense   kernel   int8 [-127,127] per channel live  P01  "
            "weights of Dense, quantized as its data\n");
}

TEST(Place, NamesGroupsAfterTheTensorsAndTheWeights) {
  const QdqPlan plan = plan_for(quickstart());
  EXPECT_EQ(outline(plan),
            (Strings{"conv2d 0 image", "conv2d kernel conv2d/kernel",
                     "dense 0 flatten", "dense kernel dense/kernel"}));
  EXPECT_EQ(count_pairs(plan, quickstart()).shared, 4);
}

TEST(Place, GroupsConsumersOfATensor) {
  const QdqPlan plan = plan_for(fork());
  EXPECT_EQ(outline(plan),
            (Strings{"a 0 relu", "a kernel a/kernel", "b 0 relu",
                     "b kernel b/kernel", "c 0 b", "c kernel c/kernel"}));
  EXPECT_EQ(count_pairs(plan, fork()).shared, 5);
}

// A quantized model names the layers of its plan differently.
TEST(CountPairs, AcceptsAQuantizedModelAndItsPlan) {
  for (const Model& model : {quickstart(), fork()}) {
    const QdqPlan plan = plan_for(model);
    const Model q = apply(plan, model);
    EXPECT_EQ(count_pairs(plan_of(q), q), count_pairs(plan, model));
    EXPECT_EQ(count_pairs(plan, q), count_pairs(plan, model));
    EXPECT_EQ(failure_of<ValueError>([&] { (void)apply(plan, q); }).code,
              "already_quantized");
  }
  QdqPlan unknown = plan_for(quickstart());
  unknown.points[0].layer = "conv";
  EXPECT_THROW((void)count_pairs(unknown, quickstart()), NotFoundError);
}

TEST(Place, NamesASharedLayerOnceWithASeparateInputGroup) {
  const SymbolicTensor x = input({3}, "x");
  const Dense shared({.units = 3, .name = "d"});
  const Model model(x, shared(ReLU()(shared(x))));
  EXPECT_EQ(outline(plan_for(model)),
            (Strings{"d 0 d/input_0", "d kernel d/kernel"}));
}

TEST(Place, DistinguishesTheOutputsOfASharedLayer) {
  const SymbolicTensor x = input({3}, "x");
  const ReLU relu({.name = "relu"});
  const SymbolicTensor first = relu(x);
  const SymbolicTensor second = relu(Dense({.units = 3, .name = "d"})(first));
  const Model model(x, Dense({.units = 2, .name = "e"})(second));
  EXPECT_EQ(outline(plan_for(model)),
            (Strings{"d 0 relu", "d kernel d/kernel", "e 0 relu:1",
                     "e kernel e/kernel"}));
}

TEST(Place, AppliesTheUsersConfigurations) {
  QuantizeOptions options;
  options.activation.bits = 4;
  options.weight = {.bits = 6, .narrow_range = true, .rule = ScaleRule::live};
  const QdqPlan plan = plan_for(quickstart(), options);
  EXPECT_EQ(plan.points[0].config, options.activation);
  EXPECT_EQ(plan.points[1].config, options.weight);
  EXPECT_EQ(to_string(plan.points[0].config), "int4 [-8,7] per tensor fixed");
  EXPECT_EQ(to_string(plan.points[1].config), "int6 [-31,31] per tensor live");
}

TEST(Place, IsEmptyWithoutQuantizableLayers) {
  const SymbolicTensor x = input({3});
  const QdqPlan plan = plan_for(Model(x, ReLU()(x)));
  EXPECT_TRUE(plan.points.empty());
  EXPECT_EQ(count_pairs(plan, Model(x, ReLU()(x))), PairCount());
  EXPECT_EQ(plan.to_string(), "");
}

TEST(Place, IsDeterministic) {
  const Model model = quickstart();
  EXPECT_EQ(plan_for(model), plan_for(model));
  EXPECT_EQ(plan_for(fork()), plan_for(fork()));
}

TEST(Plan, DiffersInEveryPartOfAPoint) {
  const QdqPlan plan = plan_for(quickstart());
  const auto differs = [&](auto change) {
    QdqPlan other = plan;
    change(other.points[1]);
    return !(other == plan);
  };
  EXPECT_TRUE(differs([](QdqPoint& p) { p.layer = "dense"; }));
  EXPECT_TRUE(differs([](QdqPoint& p) { p.site = QdqSite::input(1); }));
  EXPECT_TRUE(differs([](QdqPoint& p) { p.site.parameter = "bias"; }));
  EXPECT_TRUE(differs([](QdqPoint& p) { p.config.bits = 7; }));
  EXPECT_TRUE(differs([](QdqPoint& p) { p.reason = "user"; }));
  EXPECT_TRUE(differs([](QdqPoint& p) { p.group = "other"; }));
  EXPECT_FALSE(differs([](QdqPoint&) {}));
}

TEST(PlanOf, ReturnsTheAppliedPlan) {
  for (const auto build :
       {+[] { return quickstart(); }, +[] { return fork(); }}) {
    const Model model = build();
    const QdqPlan plan = plan_for(model);
    EXPECT_EQ(plan_of(apply(plan, model)), plan);
    EXPECT_EQ(plan_of(apply(plan, model).clone()), plan);
  }
}

TEST(PlanOf, ReturnsAnEditedPlan) {
  const Model model = quickstart();
  QdqPlan plan = plan_for(model);
  plan.points.erase(plan.points.begin());
  plan.points[0].reason = "by hand";
  plan.points[1].config.bits = 5;
  EXPECT_EQ(plan_of(apply(plan, model)), plan);
}

TEST(PlanOf, SupportsASharedLayer) {
  const SymbolicTensor x = input({3}, "x");
  const Dense shared({.units = 3, .name = "d"});
  const Model model(x, shared(ReLU()(shared(x))));
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(plan_of(apply(plan, model)), plan);
}

TEST(PlanOf, IsEmptyForAFloatModel) {
  EXPECT_TRUE(plan_of(quickstart()).points.empty());
}

}  // namespace
}  // namespace octet::quant
