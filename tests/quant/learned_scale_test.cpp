// Learned scales in quantizers and models (LSQ).
#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

const QuantizerConfig kLearned4{
    .bits = 4, .rule = ScaleRule::learned, .scale_rate = 1};
const QuantizerConfig kLearnedWeight4{.bits = 4,
                                      .narrow_range = true,
                                      .per_channel = true,
                                      .rule = ScaleRule::learned,
                                      .scale_rate = 1};

/// The scale with the least square error of x, in thousandths of its range.
float optimal_scale(std::span<const float> x, int low, int high) {
  float top = 0;
  for (const float v : x) top = std::max(top, std::fabs(v));
  double least = std::numeric_limits<double>::infinity();
  float best = 0;
  for (int i = 1; i <= 1000; ++i) {
    const float scale =
        top * static_cast<float>(i) / 1000 / static_cast<float>(high);
    double error = 0;
    for (const float v : x) {
      const double e = double{rounded_to(v, scale, low, high)} - v;
      error += e * e;
    }
    if (error < least) best = scale;
    least = std::min(least, error);
  }
  return best;
}

/// Moves the scale against its gradient, like SGD.
void descend(const Variable& scale, float rate) {
  Tensor next = scale.value().clone();
  for (size_t i = 0; i < next.f32().size(); ++i) {
    next.f32()[i] -= rate * scale.grad().f32()[i];
  }
  scale.assign(next);
  scale.zero_grad();
}

TEST(LearnedScale, FindsTheOptimalStepFromFourTimesIt) {
  Rng rng(7);
  Tensor all({1 << 16});
  rng.fill_normal(all, 0, 1);
  for (const QuantizerConfig& config : {kLearned4, QuantizerConfig{.bits = 3,
                                                   .rule = ScaleRule::learned,
                                                   .scale_rate = 1}}) {
    const float best = optimal_scale(all.f32(), config.low(), config.high());
    Quantizer q("q", config);
    q.set_scale(4 * best);
    for (int step = 0; step < 500; ++step) {
      Tensor x({16, 256});
      rng.fill_normal(x, 0, 1);
      const Variable error = q(Variable(x), Mode::training) - Variable(x);
      scale_shift(sum(error * error), 1.0f / 16).backward();
      descend(q.scale_parameter(), 0.01f);
    }
    EXPECT_NEAR(*q.scale(), best, 0.05f * best) << config.bits << " bits";
  }
}

TEST(LearnedScale, FindsTheOptimalStepOfEachChannel) {
  Tensor w({3, 3, 64, 5});  // channels of 1, 2, ... sigma
  Rng(8).fill_normal(w, 0, 1);
  std::vector<std::vector<float>> channels(5);
  for (size_t i = 0; i < w.f32().size(); ++i) {
    w.f32()[i] *= static_cast<float>(1 + i % 5);
    channels[i % 5].push_back(w.f32()[i]);
  }
  std::vector<float> best;
  for (const auto& channel : channels) {
    best.push_back(optimal_scale(channel, -7, 7));
  }
  std::vector<float> start = best;
  for (float& s : start) s *= 4;
  Quantizer q("w", kLearnedWeight4);
  q.set_scales(start);
  const Variable weight(w);
  for (int step = 0; step < 500; ++step) {
    const Variable error = q.weight(weight, -1) - weight;
    sum(error * error).backward();
    descend(q.scale_parameter(), 0.01f);
  }
  for (size_t c = 0; c < best.size(); ++c) {
    EXPECT_NEAR(q.scales()[c], best[c], 0.05f * best[c]) << c;
  }
}

TEST(LearnedScale, HasThePapersGradientFactor) {
  const Tensor x = noise({6, 5, 3});
  const Variable plain(Tensor::scalar(0.25f), true);
  sum(fake_quantize(Variable(x), {.scale = plain}, {.low = -8, .high = 7}))
      .backward();
  for (const float rate : {1.0f, 0.25f}) {
    QuantizerConfig config = kLearned4;
    config.scale_rate = rate;
    Quantizer q("q", config);
    q.set_scale(0.25f);
    sum(q(Variable(x), Mode::training)).backward();
    EXPECT_FLOAT_EQ(q.scale_parameter().grad().item(),
                    rate * plain.grad().item() / std::sqrt(5 * 3 * 7.0f));
  }
}

TEST(LearnedScale, StaysAboveItsFloor) {
  Quantizer q("q", kLearned4);
  q.set_scale(0.5f);
  q.scale_parameter().assign(Tensor::scalar(-3));  // an excessive step
  EXPECT_EQ(q.scale(), 0.5f * 0.01f);
  EXPECT_EQ(q.qparams({}, -1).scale.item(), 0.5f * 0.01f);
  (void)q(Variable(noise({2, 3})), Mode::training);
  EXPECT_EQ(q.scale_parameter().value().item(), 0.5f * 0.01f);
}

TEST(LearnedScale, ReportsNan) {
  Quantizer q("act", kLearned4);
  q.set_scale(0.5f);
  q.scale_parameter().assign(Tensor::scalar(std::nanf("")));
  EXPECT_THROW((void)q(Variable(noise({2, 3}))), ValueError);
}

Model learned_quickstart(const QuantizerConfig& activation = kLearned4,
                         const QuantizerConfig& weight = kLearnedWeight4) {
  Model model = quantize_model(quickstart(),
                               {.activation = activation, .weight = weight});
  calibrate(model, samples(20, {8, 6, 1}), {.weights = WeightRange::mse});
  prepare_qat(model);
  return model;
}

TEST(LearnedScale, NeedsCalibration) {
  Model model = quantize_model(
      quickstart(), {.activation = kLearned4, .weight = kLearnedWeight4});
  EXPECT_TRUE(needs_calibration(model));
  EXPECT_EQ(failure_of<ValueError>([&] { prepare_qat(model); }),
            (Failure{"not_calibrated", "prepare_qat"}));
}

TEST(LearnedScale, IsATrainableVariable) {
  const Model plain = calibrated_quickstart();
  const Model model = learned_quickstart();
  const auto all = model.trainable_variables();
  // Two activations and two weights.
  ASSERT_EQ(all.size(), plain.trainable_variables().size() + 4);
  std::vector<uint64_t> ids;
  for (const Variable& each : all) ids.push_back(each.id());
  for (const auto& q : quantizers(model)) {
    EXPECT_THAT(ids, ::testing::Contains(q->scale_parameter().id()));
  }
  EXPECT_EQ(model.parameter_count(), plain.parameter_count());
}

TEST(LearnedScale, GetsAGradientInEveryQuantizer) {
  Model model = learned_quickstart();
  const Variable y = model(Variable(noise({4, 8, 6, 1})), Mode::training);
  sum(y * y).backward();
  for (const auto& q : quantizers(model)) {
    const Tensor gradient = q->scale_parameter().grad();
    ASSERT_FALSE(gradient.empty()) << q->name();
    EXPECT_EQ(gradient.shape(), q->scale_parameter().shape());
    EXPECT_TRUE(std::ranges::any_of(gradient.f32(), [](float g) {
      return g != 0;
    })) << q->name();
  }
}

TEST(LearnedScale, OfAPerTensorWeightIsASingleScale) {
  const Model model = learned_quickstart(
      kLearned4, {.bits = 4, .narrow_range = true, .rule = ScaleRule::learned});
  EXPECT_EQ(quantizer(model, "dense/kernel")->scales().size(), 1u);
}

TEST(LearnedScale, IsFrozenWithItsLayerAndByItself) {
  Model model = learned_quickstart();
  const size_t all = model.trainable_variables().size();
  model.layer("quant_dense").set_trainable(false);
  // Kernel, bias, and the scales of kernel and input.
  EXPECT_EQ(model.trainable_variables().size(), all - 4);
  EXPECT_TRUE(quantizer(model, "dense/kernel")->frozen());
  EXPECT_TRUE(quantizer(model, "flatten")->frozen());
  model.layer("quant_dense").set_trainable(true);
  freeze_scales(model);
  EXPECT_EQ(model.trainable_variables().size(), all - 4);
  const Model copy = model.clone();
  EXPECT_EQ(copy.trainable_variables().size(), all - 4);
}

TEST(LearnedScale, KeepsItsValueInRecalibration) {
  Model model = learned_quickstart();
  quantizer(model, "dense/kernel")->set_scales(std::vector<float>{1, 2, 3});
  calibrate(model, samples(20, {8, 6, 1}));
  EXPECT_THAT(quantizer(model, "dense/kernel")->scales(),
              ::testing::ElementsAre(1, 2, 3));
}

TEST(LearnedScale, FoldsIntoFixedScalesWithEqualValues) {
  const Model model = learned_quickstart();
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(quantizer(folded, "conv2d/kernel")->config().rule,
            ScaleRule::fixed);
  const Tensor x = noise({4, 8, 6, 1}, 12);
  const Tensor a = model.predict(x);
  const Tensor b = folded.predict(x);
  for (size_t i = 0; i < a.f32().size(); ++i) {
    EXPECT_NEAR(a.f32()[i], b.f32()[i], 1e-4f);
  }
}

}  // namespace
}  // namespace octet::quant
