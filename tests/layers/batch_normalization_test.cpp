#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::FloatEq;
using ::testing::Pointwise;

using Values = std::vector<float>;

/// Returns a batch whose channels have means kMean and biased variances
/// kVariance.
Tensor two_channels() {
  return Tensor::of<float>({4, 2}, {1, 10, 3, 50, 1, 10, 3, 50});
}
constexpr float kMean[] = {2, 30};
constexpr float kVariance[] = {1, 400};

TEST(BatchNormalization, NormalizesByBatchStatisticsInTraining) {
  Model model = single(BatchNormalization(), {2});
  const Values y = values(model(Variable(two_channels()), Mode::training));
  const float a = 1 / std::sqrt(1.001f);
  const float b = 20 / std::sqrt(400.001f);
  const Values expected{-a, -b, a, b, -a, -b, a, b};
  for (size_t i = 0; i < y.size(); ++i) {
    // A few roundings in f32.
    EXPECT_NEAR(y[i], expected[i], 1e-6f) << i;
  }
}

TEST(BatchNormalization, UpdatesMovingStatisticsLikeKeras) {
  const BatchNormalization layer({.momentum = 0.9f});
  Model model = single(layer, {2});
  Values mean{0, 0};
  Values variance{1, 1};
  for (int step = 0; step < 3; ++step) {
    (void)model(Variable(two_channels()), Mode::training).value();
    for (size_t k = 0; k < 2; ++k) {
      mean[k] = 0.9f * mean[k] + 0.1f * kMean[k];
      variance[k] = 0.9f * variance[k] + 0.1f * kVariance[k];
    }
    EXPECT_THAT(values(layer->parameter("moving_mean").variable),
                Pointwise(FloatEq(), mean));
    EXPECT_THAT(values(layer->parameter("moving_variance").variable),
                Pointwise(FloatEq(), variance));
  }
}

TEST(BatchNormalization, ComputesImageStatisticsOverBatchAndPixels) {
  const BatchNormalization layer({.momentum = 0});
  Model model = single(layer, {2, 3, 3});
  const Tensor x = integers({2, 2, 3, 3});
  (void)model(Variable(x), Mode::training).value();
  for (size_t k = 0; k < 3; ++k) {
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < 12; ++i) mean += x.f32()[3 * i + k] / 12.0;
    for (size_t i = 0; i < 12; ++i) {
      square += std::pow(x.f32()[3 * i + k] - mean, 2) / 12.0;
    }
    EXPECT_NEAR(values(layer->parameter("moving_mean").variable)[k], mean,
                1e-6);
    EXPECT_NEAR(values(layer->parameter("moving_variance").variable)[k], square,
                1e-5);
  }
}

TEST(BatchNormalization, ComputesTheSameStatisticsAfterALinearLayer) {
  // The linear layer computes the statistics along with its product. Its
  // identity matrix leaves the values unchanged.
  const Dense identity({.units = 2});
  const BatchNormalization layer({.momentum = 0});
  const SymbolicTensor x = input({2});
  Model model(x, layer(identity(x)));
  identity->parameter("kernel").variable.assign(tensor({2, 2}, {1, 0, 0, 1}));
  (void)model(Variable(two_channels()), Mode::training).value();
  EXPECT_THAT(values(layer->parameter("moving_mean").variable),
              Pointwise(FloatEq(), kMean));
  EXPECT_THAT(values(layer->parameter("moving_variance").variable),
              Pointwise(FloatEq(), kVariance));
}

TEST(BatchNormalization, UpdatesStatisticsOnceForTwoConsumers) {
  const BatchNormalization layer({.momentum = 0.5f});
  const SymbolicTensor x = input({2});
  const SymbolicTensor y = layer(x);
  Model model({x}, {Dense({.units = 3})(y), Dense({.units = 4})(y)});
  const Variable batch(two_channels());
  const auto outputs = model(std::span(&batch, 1), Mode::training);
  (void)outputs[0].value();
  (void)outputs[1].value();
  EXPECT_THAT(values(layer->parameter("moving_mean").variable),
              Pointwise(FloatEq(), Values{1, 15}));
}

TEST(BatchNormalization, UsesMovingStatisticsUnchangedInInference) {
  const BatchNormalization layer({.epsilon = 0.5f});
  const Model model = single(layer, {2});
  layer->parameter("gamma").variable.assign(tensor({2}, {3, 1}));
  layer->parameter("beta").variable.assign(tensor({2}, {-1, 10}));
  layer->parameter("moving_mean").variable.assign(tensor({2}, {5, 0}));
  layer->parameter("moving_variance")
      .variable.assign(tensor({2}, {3.5f, 15.5f}));
  const Values y = values(model(Variable(tensor({1, 2}, {9, 8}))));
  EXPECT_THAT(y, Pointwise(FloatEq(), Values{3 * 4 / 2.0f - 1, 12}));
  EXPECT_EQ(values(layer->parameter("moving_mean").variable), (Values{5, 0}));
  EXPECT_EQ(values(layer->parameter("moving_variance").variable),
            (Values{3.5f, 15.5f}));
}

TEST(BatchNormalization, FrozenUsesMovingStatisticsUnchangedInTraining) {
  const BatchNormalization layer;
  Model model = single(layer, {2});
  layer->freeze_statistics(true);
  const Variable x(two_channels());
  EXPECT_EQ(values(model(x, Mode::training)), values(model(x)));
  EXPECT_EQ(values(layer->parameter("moving_mean").variable), (Values{0, 0}));
  EXPECT_EQ(values(layer->parameter("moving_variance").variable),
            (Values{1, 1}));
  layer->freeze_statistics(false);
  (void)model(x, Mode::training).value();
  EXPECT_NE(values(layer->parameter("moving_mean").variable), (Values{0, 0}));
}

TEST(BatchNormalization, FrozenComputesGradientsOfGammaAndBeta) {
  const BatchNormalization layer;
  Model model = single(layer, {2});
  layer->freeze_statistics(true);
  const Tensor labels = Tensor::zeros({4}, DType::i64);
  softmax_cross_entropy(model(Variable(two_channels()), Mode::training), labels)
      .backward();
  EXPECT_FALSE(layer->parameter("gamma").variable.grad().empty());
  EXPECT_FALSE(layer->parameter("beta").variable.grad().empty());
}

TEST(BatchNormalization, ReturnsZeroForABatchOfOneRow) {
  Model model = single(BatchNormalization(), {2});
  const Values y =
      values(model(Variable(tensor({1, 2}, {7, -3})), Mode::training));
  // a*x + b with a = 1/sqrt(0.001): both terms have a magnitude of up to 221
  // and cancel except for the rounding of each, 2^-17.
  EXPECT_NEAR(y[0], 0, 0x1p-16);
  EXPECT_NEAR(y[1], 0, 0x1p-16);
}

TEST(BatchNormalization, HasTheParametersOfKerasAndTrainsGammaAndBeta) {
  const BatchNormalization layer;
  const Model model = single(layer, {5, 4, 3});
  std::vector<std::string> names;
  for (const Parameter& p : layer->parameters()) {
    names.push_back(p.name);
    EXPECT_EQ(p.variable.shape(), Shape({3}));
    EXPECT_EQ(p.trainable, p.name == "gamma" || p.name == "beta") << p.name;
    EXPECT_EQ(p.variable.requires_grad(), p.trainable) << p.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"gamma", "beta", "moving_mean",
                                             "moving_variance"}));
  EXPECT_EQ(values(layer->parameter("gamma").variable), Values(3, 1.0f));
  EXPECT_EQ(values(layer->parameter("beta").variable), Values(3, 0.0f));
  EXPECT_EQ(values(layer->parameter("moving_mean").variable), Values(3, 0.0f));
  EXPECT_EQ(values(layer->parameter("moving_variance").variable),
            Values(3, 1.0f));
}

TEST(BatchNormalization, WorksWithoutScaleAndCenter) {
  const BatchNormalization layer({.center = false, .scale = false});
  const Model model = single(layer, {2});
  EXPECT_EQ(layer->parameters().size(), 2u);
  const float y = values(model(Variable(tensor({1, 2}, {4, 0}))))[0];
  EXPECT_FLOAT_EQ(y, 4 / std::sqrt(1.001f));
}

TEST(BatchNormalization, KeepsTheShape) {
  EXPECT_EQ(BatchNormalization()(input({5, 4, 3})).shape(),
            Shape({Shape::kAnySize, 5, 4, 3}));
}

TEST(BatchNormalization, RejectsOptionsOutOfRange) {
  const auto failure = [](const BatchNormalizationOptions& options) {
    return failure_of<ValueError>([&] { (void)BatchNormalization(options); });
  };
  EXPECT_EQ(failure({.momentum = -0.1f}),
            (Failure{"out_of_range", "momentum"}));
  EXPECT_EQ(failure({.momentum = 1.5f}), (Failure{"out_of_range", "momentum"}));
  EXPECT_EQ(failure({.momentum = NAN}), (Failure{"out_of_range", "momentum"}));
  EXPECT_EQ(failure({.epsilon = 0}), (Failure{"out_of_range", "epsilon"}));
  EXPECT_EQ(failure({.epsilon = NAN}), (Failure{"out_of_range", "epsilon"}));
  EXPECT_NO_THROW(BatchNormalization({.momentum = 0}));
  EXPECT_NO_THROW(BatchNormalization({.momentum = 1}));
}

TEST(BatchNormalization, RejectsInputsWithoutChannels) {
  const Failure failure = failure_of<ShapeError>(
      [] { (void)BatchNormalization({.name = "bn"})(input({})); });
  EXPECT_EQ(failure, (Failure{"invalid_shape", "input"}));
}

TEST(BatchNormalization, RoundTripsThroughItsConfiguration) {
  const Config config = BatchNormalization({.momentum = 0.75f,
                                            .epsilon = 1e-5f,
                                            .center = false,
                                            .scale = false})
                            ->config();
  EXPECT_EQ(create_layer("BatchNormalization", config)->config(), config);
  EXPECT_EQ(config.at("momentum").as_number(), 0.75);
  EXPECT_EQ(static_cast<float>(config.at("epsilon").as_number()), 1e-5f);
  EXPECT_FALSE(config.at("center").as_bool());
  EXPECT_FALSE(config.at("scale").as_bool());
}

TEST(BatchNormalization, CloneKeepsStatisticsAndFrozenFlag) {
  const BatchNormalization layer;
  Model model = single(layer, {2});
  (void)model(Variable(two_channels()), Mode::training).value();
  layer->freeze_statistics(true);
  Model clone = model.clone();
  const Values before = values(layer->parameter("moving_mean").variable);
  (void)clone(Variable(two_channels()), Mode::training).value();
  EXPECT_EQ(values(clone.layers()[1]->parameter("moving_mean").variable),
            before);
}

}  // namespace
}  // namespace octet
