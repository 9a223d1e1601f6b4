// Quantizers whose range sets the zero point, and constant scales.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/calibrate.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

constexpr float kEndless = std::numeric_limits<float>::infinity();

QuantizerConfig asymmetric_config() {
  return {.is_signed = false, .asymmetric = true};
}

Variable row_of(const std::vector<float>& x) {
  return Variable(tensor({static_cast<int64_t>(x.size())}, x));
}

TEST(AsymmetricQuantizer, UsesAllValuesBetweenTheEnds) {
  Quantizer q("q", asymmetric_config());
  q.set_range({-1, 3});
  EXPECT_EQ(q.scale(), 4.0f / 255);
  EXPECT_EQ(q.config().zero_point, 64);
  EXPECT_EQ(q.config().low(), -64);
  EXPECT_EQ(q.config().high(), 191);
  const auto y = values(q(row_of({-9, -1, 0, 3, 9})));
  EXPECT_EQ(y[2], 0.0f);  // zero is exact
  EXPECT_THAT(y[0], FloatNear(-1, 0.01f));
  EXPECT_EQ(y[0], y[1]);
  EXPECT_THAT(y[3], FloatNear(3, 0.01f));
  EXPECT_EQ(y[3], y[4]);
}

TEST(AsymmetricQuantizer, HasZeroInItsRange) {
  Quantizer q("q", asymmetric_config());
  q.set_range({0, 2});
  EXPECT_EQ(q.config().zero_point, 0);
  q.set_range({-2, 0});
  EXPECT_EQ(q.config().zero_point, 255);
  q.set_range({0, 0});  // no value but zero
  EXPECT_EQ(q.scale(), 1.0f);
  EXPECT_EQ(q.config().zero_point, 0);
}

TEST(AsymmetricQuantizer, ObservesBothEnds) {
  for (const Calibration method :
       {Calibration::max, Calibration::last_value, Calibration::ema}) {
    Quantizer q("q", asymmetric_config());
    q.start_observing({.method = method});
    q.observe(row_of({0.5f, 4, -1}));
    EXPECT_EQ(q.finish_observing(), 4.0f);
    EXPECT_EQ(q.scale(), 5.0f / 255);
    EXPECT_EQ(q.config().zero_point, 51);
  }
}

TEST(AsymmetricQuantizer, ClipsOutliersAtEachEnd) {
  std::vector<float> x(1000);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i % 100) / 100 - 0.25f;
  }
  x[0] = 100;
  Quantizer q("q", asymmetric_config());
  q.start_observing({.method = Calibration::percentile, .percentile = 99});
  q.observe(row_of(x));
  q.finish_observing();
  EXPECT_NEAR(*q.scale() * static_cast<float>(q.config().low()), -0.25f, 0.02f);
  EXPECT_NEAR(*q.scale() * static_cast<float>(q.config().high()), 0.74f, 0.02f);
}

TEST(AsymmetricQuantizer, TakesEveryMethod) {
  for (const CalibrationOptions& method : calibration_methods()) {
    Quantizer q("q", asymmetric_config());
    q.start_observing(method);
    q.observe(row_of({-0.5f, 0, 0.25f, 1.5f}));
    q.finish_observing();
    EXPECT_NEAR(*q.scale(), 2.0f / 255, 0.002f) << to_string(method);
    EXPECT_NEAR(q.config().zero_point, 64, 16) << to_string(method);
  }
}

TEST(AsymmetricQuantizer, MergesObservations) {
  Quantizer whole("q", asymmetric_config());
  Quantizer first("q", asymmetric_config());
  Quantizer second("q", asymmetric_config());
  for (Quantizer* q : {&whole, &first, &second}) {
    q->start_observing({.method = Calibration::max});
  }
  first.observe(row_of({1, -2}));
  second.observe(row_of({4, -1}));
  whole.set_observations(
      std::vector<Config>{first.observations(), second.observations()});
  whole.finish_observing();
  EXPECT_EQ(whole.scale(), 6.0f / 255);
}

TEST(AsymmetricQuantizer, RestoresItsZeroPoint) {
  Quantizer q("q", asymmetric_config());
  q.set_range({-1, 3});
  Quantizer other("q", asymmetric_config());
  other.restore(q.state());
  EXPECT_EQ(other.config(), q.config());
  EXPECT_EQ(other.scale(), q.scale());
  EXPECT_EQ(q.clone()->config(), q.config());
  Config broken = q.state();
  broken.set("zero_point", 300);
  EXPECT_EQ(failure_of<ValueError>([&] { other.restore(broken); }),
            (Failure{"invalid_value", "quantizer 'q'"}));
  EXPECT_EQ(other.config().zero_point, 64);
}

TEST(AsymmetricQuantizer, FollowsTheRangeInTraining) {
  QuantizerConfig config = asymmetric_config();
  config.rule = ScaleRule::ema;
  config.ema_rate = 0.5f;
  const Quantizer q("q", config);
  (void)q(row_of({-1, 3}), Mode::training);
  EXPECT_EQ(q.scale(), 4.0f / 255);
  (void)q(row_of({-2, 2}), Mode::training);
  EXPECT_EQ(q.scale(), 4.0f / 255);  // [-1.5,2.5]
  EXPECT_EQ(q.config().zero_point, 96);
}

TEST(AsymmetricQuantizer, RejectsInvalidRanges) {
  Quantizer q("q", asymmetric_config());
  for (const ValueRange range :
       {ValueRange{1, 2}, ValueRange{-2, -1}, ValueRange{-1, kEndless},
        ValueRange{std::nanf(""), 1}}) {
    EXPECT_EQ(failure_of<ValueError>([&] { q.set_range(range); }),
              (Failure{"invalid_value", "quantizer 'q'"}));
  }
  QuantizerConfig config = asymmetric_config();
  config.is_signed = true;
  EXPECT_EQ(failure_of<ValueError>([&] { Quantizer("q", config); }),
            (Failure{"conflicting_options", "quantizer 'q'"}));
  config = asymmetric_config();
  config.rule = ScaleRule::learned_clip;
  EXPECT_EQ(failure_of<ValueError>([&] { Quantizer("q", config); }),
            (Failure{"conflicting_options", "quantizer 'q'"}));
}

TEST(ConstantScale, IsNeitherCalibratedNorTrained) {
  Quantizer q("q", {.is_signed = false, .constant_scale = 1.0f / 256});
  EXPECT_TRUE(q.calibrated());
  q.start_observing({.method = Calibration::max});
  EXPECT_FALSE(q.observing());
  (void)q(row_of({0.5f, 9}), Mode::training);
  EXPECT_EQ(q.scale(), 1.0f / 256);
  EXPECT_THAT(values(q(row_of({0.5f, 1}))), ElementsAre(0.5f, 255.0f / 256));
}

TEST(ConstantScale, RequiresAFixedScale) {
  for (const QuantizerConfig& config :
       {QuantizerConfig{.rule = ScaleRule::learned, .constant_scale = 1},
        QuantizerConfig{.per_channel = true, .constant_scale = 1},
        QuantizerConfig{
            .is_signed = false, .asymmetric = true, .constant_scale = 1}}) {
    EXPECT_EQ(failure_of<ValueError>([&] { Quantizer("q", config); }),
              (Failure{"conflicting_options", "quantizer 'q'"}));
  }
  EXPECT_EQ(
      failure_of<ValueError>([&] { Quantizer("q", {.constant_scale = -1}); }),
      (Failure{"out_of_range", "quantizer 'q'"}));
}

QuantizerConfig affine_config() {
  return {.rule = ScaleRule::learned_affine,
          .is_signed = false,
          .asymmetric = true,
          .scale_rate = 1};
}

// LSQ+.
TEST(LearnedAffine, MovesTheZeroPoint) {
  Quantizer q("q", affine_config());
  q.set_range({-1, 3});
  EXPECT_EQ(q.config().zero_point, 64);
  EXPECT_EQ(q.offset_parameter().value().item(), -64 * *q.scale());
  q.offset_parameter().assign(Tensor::scalar(-10.4f * *q.scale()));
  EXPECT_EQ(q.config().zero_point, 10);
  EXPECT_EQ(q.config().low(), -10);
  EXPECT_EQ(q.qparams({}, -1).high, 245);
}

TEST(LearnedAffine, KeepsTheOffsetWithinTheZeroPoints) {
  Quantizer q("q", affine_config());
  q.set_range({-1, 3});
  q.offset_parameter().assign(Tensor::scalar(5));
  (void)q(row_of({1, 2}), Mode::training);
  EXPECT_EQ(q.config().zero_point, 0);
  EXPECT_EQ(q.offset_parameter().value().item(), 0);
  q.offset_parameter().assign(Tensor::scalar(-500));
  (void)q(row_of({1, 2}), Mode::training);
  EXPECT_EQ(q.config().zero_point, 255);
}

// A range that clips a third of the values at its low end widens there.
TEST(LearnedAffine, FindsTheLowEndOfTheValues) {
  Tensor x({1 << 12});
  Rng(5).fill_uniform(x, -2, 2);
  Quantizer q("q", affine_config());
  q.set_range({-0.5f, 2});
  const auto error = [&] {
    const Variable y = q(Variable(x), Mode::training);
    return mean(square(y - Variable(x)));
  };
  const float before = error().value().item();
  for (int i = 0; i < 400; ++i) {
    error().backward();
    for (const Variable& leaf : {q.scale_parameter(), q.offset_parameter()}) {
      Tensor next = leaf.value().clone();
      next.f32()[0] -= 2.0f * leaf.grad().item();
      leaf.assign(next);
      leaf.zero_grad();
    }
  }
  EXPECT_LT(error().value().item(), before / 100);
  EXPECT_NEAR(*q.scale() * static_cast<float>(q.config().low()), -2, 0.1f);
  EXPECT_NEAR(*q.scale() * static_cast<float>(q.config().high()), 2, 0.1f);
}

TEST(LearnedAffine, RestoresAndClonesItsOffset) {
  Quantizer q("q", affine_config());
  q.set_range({-1, 3});
  q.offset_parameter().assign(Tensor::scalar(-0.7f));
  Quantizer other("q", affine_config());
  other.restore(q.state());
  EXPECT_EQ(other.config(), q.config());
  EXPECT_EQ(other.offset_parameter().value().item(), -0.7f);
  EXPECT_EQ(q.clone()->config(), q.config());
  EXPECT_EQ(q.clone()->offset_parameter().value().item(), -0.7f);
  q.set_frozen(true);
  EXPECT_FALSE(q.offset_parameter().requires_grad());
  Config broken = q.state();
  broken.set("offset", std::numeric_limits<double>::infinity());
  EXPECT_EQ(failure_of<ValueError>([&] { other.restore(broken); }),
            (Failure{"invalid_value", "quantizer 'q'"}));
}

TEST(LearnedAffine, RequiresAnAsymmetricRange) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)Quantizer("q", {.rule = ScaleRule::learned_affine});
            }),
            (Failure{"conflicting_options", "quantizer 'q'"}));
}

}  // namespace
}  // namespace octet::quant
