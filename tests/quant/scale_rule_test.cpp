// Scales that follow the values in training.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

QuantizerConfig following(float rate, int64_t freeze_step = 0) {
  return {.rule = ScaleRule::ema, .ema_rate = rate, .freeze_step = freeze_step};
}

Variable values_up_to(float top) {
  return Variable(tensor({1, 3}, {0.5f * top, -top, 0}));
}

TEST(ScaleRuleEma, StartsAtTheFirstPassAndMovesByItsRate) {
  const Quantizer q("q", following(0.25f));
  (void)q(values_up_to(127), Mode::training);
  EXPECT_EQ(q.scale(), 1.0f);
  (void)q(values_up_to(254), Mode::training);
  EXPECT_EQ(q.scale(), 1.25f);
}

// It quantizes with the average, not with the pass.
TEST(ScaleRuleEma, RoundsWithItsAverage) {
  const Quantizer q("q", following(0.25f));
  (void)q(values_up_to(127), Mode::training);
  const Variable y = q(values_up_to(254), Mode::training);
  EXPECT_EQ(values(y), (std::vector<float>{127.5f, -160, 0}));
}

TEST(ScaleRuleEma, IsConstantInInference) {
  const Quantizer q("q", following(0.5f));
  (void)q(values_up_to(127), Mode::training);
  (void)q(values_up_to(1270));
  EXPECT_EQ(q.scale(), 1.0f);
}

TEST(ScaleRuleEma, NeedsAPassInTrainingBeforeInference) {
  const Quantizer q("q", following(0.5f));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)q(values_up_to(1)); }),
            (Failure{"not_calibrated", "quantizer 'q'"}));
}

TEST(ScaleRuleEma, ContinuesFromCalibration) {
  Quantizer q("q", following(0.25f));
  q.set_scale(1);
  (void)q(values_up_to(254), Mode::training);
  EXPECT_EQ(q.scale(), 1.25f);
}

TEST(ScaleRuleEma, IgnoresZeros) {
  const Quantizer q("q", following(0.5f));
  EXPECT_EQ(values(q(values_up_to(0), Mode::training)),
            (std::vector<float>{0, -0.0f, 0}));
  EXPECT_FALSE(q.calibrated());
  (void)q(values_up_to(127), Mode::training);
  (void)q(values_up_to(0), Mode::training);
  EXPECT_EQ(q.scale(), 1.0f);
}

TEST(ScaleRuleEma, NamesTheQuantizerWithNan) {
  const Quantizer q("act", following(0.5f));
  const Variable bad(tensor({1, 2}, {1, std::nanf("")}));
  EXPECT_THAT(
      failure_of<ValueError>([&] { (void)q(bad, Mode::training); }).context,
      ElementsAre("in quantizer 'act'"));
}

TEST(ScaleRuleEma, CountsASharedTensorOnce) {
  const Quantizer q("q", following(0.5f));
  (void)q(values_up_to(127), Mode::training);
  const Variable x = values_up_to(254);
  (void)q(x, Mode::training);
  (void)q(x, Mode::training);
  EXPECT_EQ(q.scale(), 1.5f);
}

TEST(ScaleRuleEma, NoticesARewrittenLeaf) {
  const Quantizer q("q", {.rule = ScaleRule::last_value});
  const Variable x = values_up_to(127);
  (void)q(x, Mode::training);
  x.assign(values_up_to(254).value());
  (void)q(x, Mode::training);
  EXPECT_EQ(q.scale(), 2.0f);
}

TEST(ScaleRuleEma, FreezesAfterItsSteps) {
  const Quantizer q("q", following(0.5f, 2));
  (void)q(values_up_to(127), Mode::training);
  EXPECT_FALSE(q.frozen());
  (void)q(values_up_to(254), Mode::training);
  EXPECT_TRUE(q.frozen());
  (void)q(values_up_to(1270), Mode::training);
  EXPECT_EQ(q.scale(), 1.5f);
}

TEST(ScaleRuleLastValue, IsTheRangeOfTheLastPassInTraining) {
  const Quantizer q("q", {.rule = ScaleRule::last_value});
  (void)q(values_up_to(254), Mode::training);
  (void)q(values_up_to(127), Mode::training);
  (void)q(values_up_to(508));
  EXPECT_EQ(q.scale(), 1.0f);
}

TEST(ScaleRules, AreSavedWithTheirState) {
  for (const QuantizerConfig& config :
       {following(0.5f, 2), QuantizerConfig{.rule = ScaleRule::last_value},
        QuantizerConfig{.bits = 4, .rule = ScaleRule::learned}}) {
    Quantizer q("q", config);
    q.set_scale(0.5f);
    (void)q(values_up_to(3), Mode::training);
    Quantizer other("q", config);
    other.restore(q.state());
    EXPECT_EQ(other.state(), q.state());
    (void)q(values_up_to(9), Mode::training);
    (void)other(values_up_to(9), Mode::training);
    EXPECT_EQ(other.scale(), q.scale());
    EXPECT_EQ(other.frozen(), q.frozen());
  }
}

// Optimizers refer to the leaf.
TEST(ScaleRules, KeepTheLeafInRestore) {
  Quantizer q("q", {.bits = 4, .rule = ScaleRule::learned});
  q.set_scale(0.5f);
  const Variable leaf = q.scale_parameter();
  const Config state = q.state();
  q.set_scale(2);
  q.restore(state);
  EXPECT_EQ(q.scale_parameter().id(), leaf.id());
  EXPECT_EQ(leaf.value().item(), 0.5f);
}

TEST(ScaleRules, HaveNames) {
  for (const ScaleRule rule :
       {ScaleRule::fixed, ScaleRule::live, ScaleRule::ema,
        ScaleRule::last_value, ScaleRule::learned, ScaleRule::learned_log2,
        ScaleRule::learned_clip}) {
    EXPECT_EQ(scale_rule_named(to_string(rule)), rule);
  }
  EXPECT_THROW((void)scale_rule_named("lsq"), ValueError);
}

TEST(ScaleRules, RefuseOptionsOutOfRange) {
  for (const float rate :
       {0.0f, 1.5f, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(failure_of<ValueError>([&] { Quantizer("q", following(rate)); }),
              (Failure{"out_of_range", "quantizer 'q'"}));
  }
  EXPECT_EQ(failure_of<ValueError>([] {
              Quantizer("q", {.rule = ScaleRule::learned, .scale_rate = 0});
            }),
            (Failure{"out_of_range", "quantizer 'q'"}));
  EXPECT_EQ(failure_of<ValueError>([] { Quantizer("q", following(0.5f, -1)); }),
            (Failure{"out_of_range", "quantizer 'q'"}));
}

TEST(ScaleRules, ThatFollowAreNotForWeights) {
  for (const ScaleRule rule : {ScaleRule::ema, ScaleRule::last_value}) {
    EXPECT_EQ(failure_of<UnsupportedError>([&] {
                (void)quantize_model(
                    quickstart(),
                    {.weight = {.narrow_range = true, .rule = rule}});
              }).code,
              "unsupported_value");
  }
}

TEST(ScaleRules, ArePartOfPlans) {
  QdqPlan plan = plan_for(quickstart(), {.activation = {.bits = 4,
                                                        .rule = ScaleRule::ema,
                                                        .ema_rate = 0.125f,
                                                        .freeze_step = 7},
                                         .weight = {.bits = 2,
                                                    .narrow_range = true,
                                                    .per_channel = true,
                                                    .rule = ScaleRule::learned,
                                                    .scale_rate = 0.5f}});
  EXPECT_EQ(plan_from_config(to_config(plan)), plan);
  EXPECT_EQ(to_string(plan.points[0].config), "int4 [-8,7] per tensor ema");
}

/// A step on x with an arbitrary loss.
void step(Model& model, const Tensor& x) {
  const Variable y = model(Variable(x), Mode::training);
  sum(y * y).backward();
}

TEST(ScaleRules, TrainFromScratchWithoutCalibration) {
  for (const ScaleRule rule : {ScaleRule::ema, ScaleRule::last_value}) {
    Model model = quantize_model(quickstart(), {.activation = {.rule = rule}});
    EXPECT_FALSE(needs_calibration(model));
    EXPECT_NO_THROW(prepare_qat(model));
    const Tensor x = noise({5, 8, 6, 1});
    EXPECT_EQ(failure_of<ValueError>([&] { (void)model.predict(x); }).code,
              "not_calibrated");
    step(model, x);
    EXPECT_EQ(quantizer(model, "image")->scale(), absmax(x) / 127);
    EXPECT_NO_THROW((void)model.predict(x));
  }
}

TEST(ScaleRules, AreConstantWhileFrozen) {
  Model model =
      quantize_model(quickstart(), {.activation = {.rule = ScaleRule::ema}});
  step(model, noise({5, 8, 6, 1}));
  freeze_scales(model);
  const auto before = scales(model);
  step(model, Tensor::full({5, 8, 6, 1}, 9));
  EXPECT_EQ(scales(model), before);
  freeze_scales(model, false);
  step(model, Tensor::full({5, 8, 6, 1}, 9));
  EXPECT_NE(scales(model), before);
}

TEST(ScaleRules, AreConstantWhileObservingIsPaused) {
  Model model =
      quantize_model(quickstart(), {.activation = {.rule = ScaleRule::ema}});
  step(model, noise({5, 8, 6, 1}));
  const auto before = scales(model);
  const ObservingPaused paused(model);
  step(model, Tensor::full({5, 8, 6, 1}, 9));
  EXPECT_EQ(scales(model), before);
}

TEST(ScaleRules, SurviveCloneStateAndRebuild) {
  Model model = quantize_model(
      quickstart(), {.activation = {.bits = 4, .rule = ScaleRule::ema},
                     .weight = {.bits = 4,
                                .narrow_range = true,
                                .per_channel = true,
                                .rule = ScaleRule::learned}});
  calibrate(model, samples(10, {8, 6, 1}));
  step(model, noise({5, 8, 6, 1}));
  const Tensor x = noise({3, 8, 6, 1}, 9);
  EXPECT_EQ(bits(model.clone().predict(x)), bits(model.predict(x)));
  const ModelState state = state_of(model);
  Model again = initial_model(state);
  restore(again, state);
  EXPECT_EQ(bits(again.predict(x)), bits(model.predict(x)));
  EXPECT_EQ(state_of(again).status, state.status);
}

TEST(ScaleRules, MatchTheModelInASessionBitForBit) {
  for (const ScaleRule rule :
       {ScaleRule::ema, ScaleRule::last_value, ScaleRule::learned}) {
    for (const int width : {8, 4, 2}) {
      Model model = quantize_model(quickstart(),
                                   {.activation = {.bits = width, .rule = rule},
                                    .weight = {.bits = width,
                                               .narrow_range = true,
                                               .per_channel = true,
                                               .rule = ScaleRule::learned}});
      calibrate(model, samples(10, {8, 6, 1}));
      step(model, noise({5, 8, 6, 1}));
      const Tensor x = noise({7, 8, 6, 1}, 9);
      const std::vector<uint32_t> expected = bits(model(Variable(x)));
      EXPECT_EQ(bits(InferenceSession(model).run(x)), expected);
      const FloatGemmGuard float_codes;
      EXPECT_EQ(bits(model(Variable(x))), expected);
    }
  }
}

}  // namespace
}  // namespace octet::quant
