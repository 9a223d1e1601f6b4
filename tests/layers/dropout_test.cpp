#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;

Floats train(Model& model, const Tensor& x) {
  return values(model(Variable(x), Mode::training));
}

TEST(Dropout, IsTheIdentityInInference) {
  const Tensor x = noise({2, 3, 4, 3});
  EXPECT_EQ(values(infer(Dropout(), x)), values(x));
  EXPECT_EQ(values(infer(SpatialDropout2D(), x)), values(x));
  EXPECT_EQ(values(infer(GaussianNoise(), x)), values(x));
  EXPECT_EQ(values(infer(GaussianDropout(), x)), values(x));
  EXPECT_EQ(values(infer(AlphaDropout(), x)), values(x));
}

TEST(Dropout, IsTheIdentityForRateZero) {
  const Tensor x = noise({2, 3, 4, 3});
  for (const LayerHandle& layer : std::initializer_list<LayerHandle>{
           Dropout({.rate = 0}), GaussianNoise({.stddev = 0}),
           GaussianDropout({.rate = 0}), AlphaDropout({.rate = 0})}) {
    Model model = single(layer, {3, 4, 3});
    EXPECT_EQ(train(model, x), values(x));
  }
}

TEST(Dropout, DropsInTrainingAndScalesTheRest) {
  Model model = single(Dropout({.rate = 0.75f}), {1000});
  const Floats y = train(model, Tensor::full({1, 1000}, 1));
  size_t kept = 0;
  for (const float v : y) {
    EXPECT_TRUE(v == 0 || v == 4) << v;
    kept += v > 0;
  }
  // 250 expected; five standard deviations are 68.
  EXPECT_NEAR(static_cast<double>(kept), 250, 68);
}

// Expects the mean within five standard errors, and the standard deviation
// within 2 %, which is more than five standard errors for 100,000 values.
void expect_moments(const Floats& y, double mean, double deviation) {
  double sum = 0;
  double squares = 0;
  for (const float v : y) {
    sum += v;
    squares += static_cast<double>(v) * v;
  }
  const auto n = static_cast<double>(y.size());
  EXPECT_NEAR(sum / n, mean, 5 * deviation / std::sqrt(n));
  EXPECT_NEAR(std::sqrt(squares / n - sum / n * sum / n), deviation,
              0.02 * deviation);
}

TEST(GaussianDropout, MultipliesByNoiseOfMeanOne) {
  // The noise has a standard deviation of sqrt(rate / (1 - rate)) = 0.5.
  Model model = single(GaussianDropout({.rate = 0.2f}), {100000});
  expect_moments(train(model, Tensor::full({1, 100000}, 3)), 3, 1.5);
}

TEST(AlphaDropout, PreservesMeanAndVarianceOfNormalValues) {
  Tensor x({1, 100000});
  Rng(3).fill_normal(x.f32(), 0, 1);
  Model model = single(AlphaDropout({.rate = 0.3f}), {100000});
  const Floats y = train(model, x);
  expect_moments(y, 0, 1);
  // Dropped elements become a * limit + b. Source: Self-Normalizing Neural
  // Networks (arXiv:1706.02515), "New Dropout Technique".
  const double limit = -1.7580993408473766;
  const double a = 1 / std::sqrt(0.7 * (1 + 0.3 * limit * limit));
  const auto dropped = std::ranges::count_if(y, [&](float v) {
    return std::fabs(v - (a * limit - 0.3 * a * limit)) < 1e-5;
  });
  // Five standard deviations are 725.
  EXPECT_NEAR(static_cast<double>(dropped), 30000, 750);
}

TEST(NoiseLayers, RejectRatesOutOfRange) {
  for (const float rate : {-0.1f, 1.0f, std::nanf("")}) {
    EXPECT_THROW(GaussianDropout({.rate = rate}), ValueError);
    EXPECT_THROW(AlphaDropout({.rate = rate}), ValueError);
  }
}

TEST(Dropout, DropsAlongAxesOfSizeOneInTheNoiseShape) {
  Model model =
      single(Dropout({.rate = 0.5f, .noise_shape = {-1, 1, 1, 1}}), {3, 5, 2});
  const Floats y = train(model, Tensor::full({64, 3, 5, 2}, 1));
  size_t kept = 0;
  for (size_t image = 0; image < 64; ++image) {
    const float first = y[image * 30];
    EXPECT_TRUE(first == 0 || first == 2) << first;
    for (size_t i = 1; i < 30; ++i) EXPECT_EQ(y[image * 30 + i], first);
    kept += first > 0;
  }
  // 32 expected; five standard deviations are 20.
  EXPECT_NEAR(static_cast<double>(kept), 32, 20);
}

TEST(Dropout, AcceptsKerasNoiseShape) {
  const auto layer = create_layer(
      "Dropout", Config()
                     .set("rate", 0.2)
                     .set("noise_shape", Config::List{Config(), 1, 1, 1}));
  EXPECT_EQ(layer->config().at("noise_shape"),
            Config(Config::List{-1, 1, 1, 1}));
}

TEST(Dropout, RejectsNoiseShapesThatDoNotFit) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{-1, 1}, {-1, 2, 1, 1}, {-1, 1, 1, 1, 1}}) {
    EXPECT_EQ(failure_of<ShapeError>([&] {
                (void)single(Dropout({.noise_shape = shape}), {3, 5, 2});
              }),
              (Failure{"shape_mismatch", "noise_shape"}));
  }
  EXPECT_THROW((void)AlphaDropout({.noise_shape = {-1, 2}})(input({3})),
               ShapeError);
}

TEST(Dropout, DrawsAMaskPerPassNumber) {
  for (const LayerHandle& layer :
       {LayerHandle(Dropout()), LayerHandle(SpatialDropout2D()),
        LayerHandle(GaussianNoise())}) {
    Model model = single(layer, {3, 4, 17});
    const Tensor x = Tensor::full({2, 3, 4, 17}, 1);
    const Floats first = train(model, x);
    const Floats second = train(model, x);
    EXPECT_NE(first, second);
    model.set_training_passes(0);
    EXPECT_EQ(train(model, x), first);
    EXPECT_EQ(train(model, x), second);
  }
}

TEST(Dropout, DrawsSeparatelyForEachCallOfASharedLayer) {
  const SymbolicTensor x = input({100});
  const Dropout dropout;
  Model model({x}, {dropout(x), dropout(x)});
  const std::vector<Variable> inputs{Variable(Tensor::full({1, 100}, 1))};
  const auto y = model(inputs, Mode::training);
  EXPECT_NE(values(y[0]), values(y[1]));
}

TEST(Dropout, IsReproducibleForAnyNumberOfThreads) {
  const ThreadCountGuard restored;
  const auto run = [](int threads) {
    set_num_threads(threads);
    Model model = single(Dropout(), {30, 40, 17});
    return train(model, Tensor::full({2, 30, 40, 17}, 1));
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(Dropout, RejectsRatesOutOfRange) {
  for (const float rate : {1.0f, -0.1f, NAN}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { (void)Dropout({.rate = rate, .name = "drop"}); }),
              (Failure{"out_of_range", "rate"}));
    EXPECT_THROW((void)SpatialDropout2D({.rate = rate}), ValueError);
  }
  for (const float stddev : {-1.0f, NAN, INFINITY}) {
    EXPECT_THROW((void)GaussianNoise({.stddev = stddev}), ValueError);
  }
}

TEST(SpatialDropout2D, DropsWholeChannels) {
  Model model = single(SpatialDropout2D(), {3, 5, 17});
  const Floats y = train(model, Tensor::full({2, 3, 5, 17}, 1));
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], y[i / (15 * 17) * 15 * 17 + i % 17]);
  }
}

TEST(SpatialDropout2D, RejectsInputsOtherThanImages) {
  EXPECT_THROW(SpatialDropout2D()(input({3})), ShapeError);
}

TEST(Dropout, RoundTripsThroughItsConfiguration) {
  for (const auto& [name, option] : {std::pair{"Dropout", "rate"},
                                     {"SpatialDropout2D", "rate"},
                                     {"GaussianNoise", "stddev"}}) {
    const Config config =
        create_layer(name, Config().set(option, 0.25f))->config();
    EXPECT_EQ(config.at(option).as_number(), 0.25);
    EXPECT_EQ(create_layer(name, config)->config(), config);
  }
}

}  // namespace
}  // namespace octet
