#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

using Values = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Quantizes x with an activation quantizer of the given scale.
Values quantized(const Values& x, float scale,
                 const QuantizerConfig& config = activation_quantizer()) {
  Quantizer q("q", config);
  q.set_scale(scale);
  return values(q(Variable(tensor({static_cast<int64_t>(x.size())}, x))));
}

TEST(Quantizer, HasTheRangesOfTensorRt) {
  EXPECT_EQ(activation_quantizer().low(), -128);
  EXPECT_EQ(activation_quantizer().high(), 127);
  EXPECT_FALSE(activation_quantizer().per_channel);
  EXPECT_EQ(weight_quantizer().low(), -127);
  EXPECT_EQ(weight_quantizer().high(), 127);
  EXPECT_TRUE(weight_quantizer().per_channel);
  EXPECT_EQ(weight_quantizer().rule, ScaleRule::live);
}

TEST(Quantizer, RoundsTiesToEven) {
  EXPECT_EQ(quantized({0.5f, 1.5f, 2.5f, 3.5f, -0.5f, -1.5f, -2.5f}, 1),
            (Values{0, 2, 2, 4, 0, -2, -2}));
  EXPECT_EQ(quantized({0.25f, 0.75f, 1.25f}, 0.5f), (Values{0, 1, 1}));
}

TEST(Quantizer, SaturatesAtTheEndsOfItsRange) {
  EXPECT_EQ(quantized({127, 127.4f, 127.5f, 128, 1e30f, kInfinity}, 1),
            Values(6, 127.0f));
  EXPECT_EQ(quantized({-128, -128.4f, -128.5f, -129, -1e30f, -kInfinity}, 1),
            Values(6, -128.0f));
  EXPECT_EQ(quantized({126.5f, -127.5f}, 1), (Values{126, -128}));
}

TEST(Quantizer, DividesByTheScale) {
  // Where multiplication by 1/scale would round to the other side.
  const float scale = 0.1f;
  int differ = 0;
  for (int code = -128; code < 127; ++code) {
    const float middle = (static_cast<float>(code) + 0.5f) * scale;
    for (const float x : {middle, std::nextafter(middle, kInfinity),
                          std::nextafter(middle, -kInfinity)}) {
      EXPECT_EQ(quantized({x}, scale)[0], rounded_to(x, scale));
      differ += std::nearbyint(x / scale) != std::nearbyint(x * (1 / scale));
    }
  }
  EXPECT_GT(differ, 0);
}

TEST(Quantizer, IsIdempotent) {
  const Values once = quantized(values(noise({100})), 0.013f);
  EXPECT_EQ(quantized(once, 0.013f), once);
}

TEST(Quantizer, KeepsNan) { EXPECT_TRUE(std::isnan(quantized({kNan}, 1)[0])); }

TEST(Quantizer, SupportsFewerBits) {
  EXPECT_EQ(quantized({-100, 100}, 1, {.bits = 4}), (Values{-8, 7}));
  EXPECT_EQ(quantized({-100, 100}, 1, {.bits = 4, .narrow_range = true}),
            (Values{-7, 7}));
  EXPECT_EQ(quantized({-100, 100}, 1, {.bits = 2}), (Values{-2, 1}));
}

TEST(Quantizer, LiveChannelsUseTheirLargestMagnitude) {
  const Quantizer q("w", weight_quantizer());
  // Columns are channels.
  const Tensor w = tensor({2, 3}, {127, -0.5f, 0, -63.4f, 0.25f, 0});
  EXPECT_EQ(
      values(q(Variable(w))),
      (Values{127, -0.5f, 0, -63, rounded_to(0.25f, 0.5f / 127, -127), 0}));
  const QuantParams qparams = q.qparams(w, 1);
  EXPECT_EQ(values(qparams.scale), (Values{1, 0.5f / 127, 1}));
  EXPECT_EQ(qparams.axis, 1);
  EXPECT_EQ(qparams.low, -127);
  EXPECT_EQ(qparams.high, 127);
}

TEST(Quantizer, LiveChannelsReachBothEndsOfTheNarrowRange) {
  const Quantizer q("w", weight_quantizer());
  for (const float top : {1.0f, 0.3f, 17.7f, 1e-20f}) {
    const Tensor w = tensor({2, 1}, {top, -top});
    const Tensor codes = quantize(w, q.qparams(w, 1));
    EXPECT_EQ(codes.data<int8_t>()[0], 127);
    EXPECT_EQ(codes.data<int8_t>()[1], -127);
  }
}

TEST(Quantizer, LiveFollowsTheTensor) {
  const Quantizer q("w", weight_quantizer());
  EXPECT_EQ(values(q(Variable(tensor({1, 1}, {3})))), Values{3});
  EXPECT_EQ(values(q(Variable(tensor({1, 1}, {1000})))), Values{1000});
  EXPECT_EQ(q.scale(), std::nullopt);
}

TEST(Quantizer, LivePerTensorHasOneScale) {
  const Quantizer q("w", {.narrow_range = true, .rule = ScaleRule::live});
  const Tensor w = tensor({1, 3}, {254, 1, -3});
  EXPECT_EQ(values(q.qparams(w, -1).scale), Values{2});
  EXPECT_EQ(values(q(Variable(w))), (Values{254, 0, -4}));
}

TEST(Quantizer, LiveRefusesNanAndInfinity) {
  const Quantizer q("conv/kernel", weight_quantizer());
  for (const float bad : {kNan, kInfinity}) {
    EXPECT_THAT(failure_of<ValueError>([&] {
                  (void)q(Variable(tensor({1, 1}, {bad})));
                }).context,
                ElementsAre("in quantizer 'conv/kernel'"));
  }
}

TEST(Quantizer, RefusesToRunWithoutAScale) {
  const Quantizer q("image", activation_quantizer());
  const Variable x(tensor({2}, {0.3f, 1e9f}));
  EXPECT_FALSE(q.calibrated());
  EXPECT_EQ(q.scale(), std::nullopt);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)q(x); }),
            (Failure{"not_calibrated", "quantizer 'image'"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)q.qparams(x.value(), -1); }),
            (Failure{"not_calibrated", "quantizer 'image'"}));
}

TEST(Quantizer, IsAnIdentityWhileDisabledAndKeepsItsScale) {
  Quantizer q("q", activation_quantizer());
  q.set_scale(1);
  const Variable x(tensor({2}, {0.3f, 1e9f}));
  q.set_enabled(false);
  EXPECT_EQ(values(q(x)), values(x));
  EXPECT_EQ(q.scale(), 1.0f);
  EXPECT_EQ(q.qparams({}, -1).scale.item(), 1.0f);
  q.set_enabled(true);
  EXPECT_EQ(values(q(x)), (Values{0, 127}));
}

TEST(Quantizer, RefusesOtherBitsThanTwoToEightAnd16) {
  for (const int bits : {-1, 0, 1, 9, 15, 17}) {
    EXPECT_EQ(failure_of<ValueError>([&] { Quantizer("q", {.bits = bits}); }),
              (Failure{"out_of_range", "quantizer 'q'"}));
  }
  for (const int bits : {2, 8, 16}) {
    EXPECT_NO_THROW(Quantizer("q", {.bits = bits}));
  }
}

constexpr QuantizerConfig kFixedChannels{.narrow_range = true,
                                         .per_channel = true};

TEST(Quantizer, KeepsFixedScalesPerChannel) {
  Quantizer q("conv/kernel", kFixedChannels);
  EXPECT_FALSE(q.calibrated());
  EXPECT_TRUE(q.scales().empty());
  q.set_scales(Values{1, 0.5f, 0.25f});
  EXPECT_TRUE(q.calibrated());
  EXPECT_THAT(q.scales(), ::testing::ElementsAre(1, 0.5f, 0.25f));
  EXPECT_EQ(q.scale(), std::nullopt);
  const Tensor w = tensor({2, 3}, {1000, -0.3f, 0.1f, -1000, 0.3f, 0.125f});
  EXPECT_EQ(values(q(Variable(w))), (Values{127, -0.5f, 0, -127, 0.5f, 0}));
  const QuantParams qparams = q.weight_qparams(Variable(w), -1);
  EXPECT_EQ(values(qparams.scale), (Values{1, 0.5f, 0.25f}));
  EXPECT_EQ(qparams.low, -127);
}

TEST(Quantizer, DoesNotChangeReturnedParameters) {
  Quantizer q("conv/kernel", kFixedChannels);
  q.set_scales(Values{1, 2});
  const QuantParams qparams = q.qparams(tensor({1, 2}, {0, 0}), 1);
  q.set_scales(Values{3, 4});
  EXPECT_EQ(values(qparams.scale), (Values{1, 2}));
}

TEST(Quantizer, RefusesAWeightWithMoreOrFewerChannelsThanScales) {
  Quantizer q("conv/kernel", kFixedChannels);
  q.set_scales(Values{1, 2});
  const Variable w(tensor({2, 3}, {0, 0, 0, 0, 0, 0}));
  EXPECT_NO_THROW((void)q.weight_qparams(w, 0));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)q.weight_qparams(w, -1); }),
            (Failure{"count_mismatch", "quantizer 'conv/kernel'"}));
}

TEST(Quantizer, RefusesScalesOfTheOtherKind) {
  Quantizer channels("w", kFixedChannels);
  EXPECT_EQ(failure_of<UnsupportedError>([&] { channels.set_scale(1); }),
            (Failure{"count_mismatch", "quantizer 'w'"}));
  Quantizer one("x", activation_quantizer());
  EXPECT_EQ(failure_of<UnsupportedError>([&] { one.set_scales(Values{1}); }),
            (Failure{"count_mismatch", "quantizer 'x'"}));
  Quantizer live("w", weight_quantizer());
  EXPECT_EQ(failure_of<UnsupportedError>([&] { live.set_scales(Values{1}); }),
            (Failure{"unsupported_value", "quantizer 'w'"}));
}

TEST(Quantizer, RefusesScalesThatAreNotAllFiniteAndPositive) {
  Quantizer q("w", kFixedChannels);
  q.set_scales(Values{7});
  for (const float bad : {0.0f, -1.0f, kInfinity, kNan}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                q.set_scales(Values{1, bad});
              }),
              (Failure{"invalid_value", "quantizer 'w'"}));
  }
  EXPECT_EQ(failure_of<ValueError>([&] { q.set_scales({}); }),
            (Failure{"missing_value", "quantizer 'w'"}));
  EXPECT_THAT(q.scales(), ::testing::ElementsAre(7));
}

TEST(Quantizer, RefusesAScaleThatIsNotFiniteAndPositive) {
  Quantizer q("image", activation_quantizer());
  for (const float scale : {0.0f, -1.0f, kInfinity, kNan}) {
    EXPECT_EQ(failure_of<ValueError>([&] { q.set_scale(scale); }),
              (Failure{"invalid_value", "quantizer 'image'"}));
  }
  EXPECT_FALSE(q.calibrated());
}

TEST(Quantizer, RefusesToSetALiveScale) {
  Quantizer q("conv/kernel", weight_quantizer());
  EXPECT_EQ(failure_of<UnsupportedError>([&] { q.set_scale(1); }),
            (Failure{"unsupported_value", "quantizer 'conv/kernel'"}));
}

TEST(QuantizerObserving, SetsTheScaleToTheRangeByTheHighestValue) {
  Quantizer q("q", activation_quantizer());
  q.start_observing({.method = Calibration::max});
  EXPECT_TRUE(q.observing());
  EXPECT_FALSE(q.observed());
  (void)q(Variable(tensor({2}, {-254, 3})));
  EXPECT_TRUE(q.observed());
  EXPECT_EQ(q.finish_observing(), 254.0f);
  EXPECT_EQ(q.scale(), 2.0f);
  EXPECT_FALSE(q.observing());
}

TEST(QuantizerObserving, SetsTheScaleOfAnAllZeroTensorToOne) {
  Quantizer q("q", activation_quantizer());
  q.start_observing({.method = Calibration::max});
  (void)q(Variable(Tensor::zeros({5})));
  EXPECT_EQ(q.finish_observing(), 0.0f);
  EXPECT_EQ(q.scale(), 1.0f);
}

TEST(QuantizerObserving, CountsASharedValueOnce) {
  Quantizer q("q", activation_quantizer());
  q.start_observing({.method = Calibration::ema, .ema_rate = 0.5f});
  const Variable first(tensor({1}, {4}));
  const Variable second(tensor({1}, {8}));
  (void)q(first);
  (void)q(first);
  (void)q(second);
  (void)q(second);
  EXPECT_EQ(q.finish_observing(), 6.0f);  // not 7
}

TEST(QuantizerObserving, ObservesUnquantizedValues) {
  Quantizer q("q", activation_quantizer());
  q.set_scale(1);
  q.start_observing({.method = Calibration::max});
  EXPECT_EQ(values(q(Variable(tensor({1}, {1000.3f})))), Values{127});
  EXPECT_EQ(q.finish_observing(), 1000.3f);
}

TEST(QuantizerObserving, WithoutDataKeepsTheScale) {
  Quantizer q("q", activation_quantizer());
  q.set_scale(3);
  q.start_observing({});
  EXPECT_EQ(q.finish_observing(), std::nullopt);
  EXPECT_EQ(q.scale(), 3.0f);
  EXPECT_EQ(q.finish_observing(), std::nullopt);
}

TEST(QuantizerObserving, CancelledKeepsTheScale) {
  Quantizer q("q", activation_quantizer());
  q.set_scale(3);
  q.start_observing({.method = Calibration::max});
  (void)q(Variable(tensor({1}, {5})));
  q.cancel_observing();
  EXPECT_FALSE(q.observing());
  EXPECT_EQ(q.scale(), 3.0f);
}

TEST(QuantizerObserving, RestartedForgetsItsObservations) {
  Quantizer q("q", activation_quantizer());
  const Variable x(tensor({1}, {5}));
  q.start_observing({.method = Calibration::max});
  (void)q(Variable(tensor({1}, {100})));
  (void)q(x);
  q.start_observing({.method = Calibration::max});
  EXPECT_FALSE(q.observed());
  (void)q(x);
  EXPECT_EQ(q.finish_observing(), 5.0f);
}

TEST(QuantizerObserving, NeverStartsForALiveScale) {
  Quantizer q("q", weight_quantizer());
  q.start_observing({});
  EXPECT_FALSE(q.observing());
  EXPECT_EQ(q.finish_observing(), std::nullopt);
}

TEST(QuantizerObserving, NeverStartsForScalesPerChannel) {
  Quantizer q("w", kFixedChannels);
  q.set_scales(Values{7});
  q.start_observing({});
  EXPECT_FALSE(q.observing());
  EXPECT_EQ(q.finish_observing(), std::nullopt);
  EXPECT_THAT(q.scales(), ::testing::ElementsAre(7));
}

TEST(QuantizerObserving, NamesTheQuantizerWithNan) {
  Quantizer q("image", activation_quantizer());
  q.start_observing({.method = Calibration::max});
  EXPECT_THAT(failure_of<ValueError>([&] {
                (void)q(Variable(tensor({1}, {kNan})));
              }).context,
              ElementsAre("in quantizer 'image'"));
}

TEST(QuantizerClone, IsIndependentAndHasNoObservations) {
  Quantizer q("q", {.bits = 5});
  q.set_scale(2);
  q.set_enabled(false);
  q.start_observing({});
  const auto copy = q.clone();
  EXPECT_EQ(copy->name(), "q");
  EXPECT_EQ(copy->config(), q.config());
  EXPECT_EQ(copy->scale(), 2.0f);
  EXPECT_FALSE(copy->enabled());
  EXPECT_FALSE(copy->observing());
  copy->set_scale(7);
  copy->set_enabled(true);
  EXPECT_EQ(q.scale(), 2.0f);
  EXPECT_FALSE(q.enabled());
}

TEST(QuantizerClone, KeepsScalesPerChannel) {
  Quantizer q("w", kFixedChannels);
  q.set_scales(Values{1, 2});
  const auto copy = q.clone();
  EXPECT_THAT(copy->scales(), ::testing::ElementsAre(1, 2));
  copy->set_scales(Values{3, 4});
  EXPECT_THAT(q.scales(), ::testing::ElementsAre(1, 2));
}

}  // namespace
}  // namespace octet::quant
