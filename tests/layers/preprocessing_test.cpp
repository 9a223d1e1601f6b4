// Preprocessing and regularization layers: Rescaling, Normalization,
// ActivityRegularization.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

TEST(Rescaling, MultipliesAndShifts) {
  EXPECT_EQ(values(infer(Rescaling({.scale = {0.5f}, .offset = {-1}}),
                         tensor({1, 3}, {0, 2, 4}))),
            (std::vector<float>{-1, 0, 1}));
}

TEST(Rescaling, AcceptsNumbersPerChannel) {
  const Tensor x = integers({2, 4, 5, 3});
  const Tensor y =
      infer(Rescaling({.scale = {1, 2, 4}, .offset = {0, 10, 20}}), x);
  for (size_t i = 0; i < x.f32().size(); ++i) {
    const float scale[] = {1, 2, 4};
    EXPECT_EQ(y.f32()[i],
              x.f32()[i] * scale[i % 3] + 10 * static_cast<float>(i % 3));
  }
}

TEST(Rescaling, AcceptsPerChannelScalesOfZero) {
  EXPECT_EQ(values(infer(Rescaling({.scale = {0, 0}, .offset = {0, 3}}),
                         tensor({1, 2}, {5, 7}))),
            (std::vector<float>{0, 3}));
}

TEST(Rescaling, RejectsListsThatDoNotFit) {
  const SymbolicTensor x = input({4, 6, 3});
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Rescaling({.scale = {1, 2}})(x);
            }),
            (Failure{"count_mismatch", "scale"}));
  EXPECT_THROW((void)Rescaling({.scale = {}}), ValueError);
  EXPECT_THROW((void)Rescaling({.offset = {NAN}}), ValueError);
}

TEST(Rescaling, WritesASingleNumberAsKeras) {
  const Config one = Rescaling({.scale = {0.5f}})->config();
  EXPECT_EQ(one.at("scale").as_number(), 0.5);
  EXPECT_EQ(create_layer("Rescaling", one)->config(), one);
  const Config many = Rescaling({.scale = {0.5f, 1}})->config();
  EXPECT_EQ(many.at("scale").as_list().size(), 2u);
  EXPECT_EQ(create_layer("Rescaling", many)->config(), many);
}

TEST(Normalization, UsesGivenStatistics) {
  EXPECT_EQ(
      values(infer(Normalization({.mean = {1, 2}, .variance = {4, 0.25f}}),
                   tensor({1, 2}, {5, 3}))),
      (std::vector<float>{2, 2}));
  EXPECT_EQ(values(infer(
                Normalization(
                    {.mean = {1, 2}, .variance = {4, 0.25f}, .invert = true}),
                tensor({1, 2}, {2, 2}))),
            (std::vector<float>{5, 3}));
}

TEST(Normalization, DividesByAtLeastAMinimum) {
  const float y =
      infer(Normalization({.mean = {1}, .variance = {0}}), tensor({1, 1}, {2}))
          .item();
  EXPECT_EQ(y, 1 / 1e-7f);
}

TEST(Normalization, AdaptsToDataBeforeTheModelIsBuilt) {
  const Normalization layer;
  layer.adapt(tensor({4, 2}, {1, 10, 3, 10, 5, 10, 7, 10}));
  const SymbolicTensor x = input({2});
  const Model model(x, layer(x));
  EXPECT_EQ(values(layer->parameter("mean").variable),
            (std::vector<float>{4, 10}));
  EXPECT_EQ(values(layer->parameter("variance").variable),
            (std::vector<float>{5, 0}));
  EXPECT_FALSE(layer->parameter("mean").trainable);
  EXPECT_EQ(values(model.predict(tensor({1, 2}, {4, 10}))),
            (std::vector<float>{0, 0}));
  // A clone has the same statistics.
  EXPECT_EQ(weight_bits(model.clone()), weight_bits(model));
}

TEST(Normalization, AdaptsToDataAfterTheModelIsBuilt) {
  const Normalization layer;
  const SymbolicTensor x = input({2, 5, 3});
  const Model model(x, layer(x));
  const Tensor samples = noise({600, 2, 5, 3});
  layer.adapt(Dataset(samples, Tensor::zeros({600}, DType::i64)));
  const Tensor y = model.predict(samples);
  for (size_t c = 0; c < 3; ++c) {
    double sum = 0;
    double square = 0;
    for (size_t i = c; i < y.f32().size(); i += 3) {
      sum += y.f32()[i];
      square += double{y.f32()[i]} * y.f32()[i];
    }
    // Six thousand values, each with an error of 1e-7.
    EXPECT_NEAR(sum / 6000, 0, 1e-6);
    EXPECT_NEAR(square / 6000, 1, 1e-6);
  }
}

TEST(Normalization, KeepsSeparateStatisticsAlongItsAxes) {
  const Normalization layer({.axis = {1, 3}});
  const Tensor x = integers({4, 2, 5, 3});
  layer.adapt(x);
  EXPECT_EQ(layer->parameter("mean").variable.shape(), Shape({2, 3}));
  double mean = 0;  // of row 1, channel 2
  for (size_t n = 0; n < 4; ++n) {
    for (size_t w = 0; w < 5; ++w) {
      mean += x.f32()[((n * 2 + 1) * 5 + w) * 3 + 2] / 20.0;
    }
  }
  EXPECT_FLOAT_EQ(values(layer->parameter("mean").variable)[5],
                  static_cast<float>(mean));
  const Normalization whole({.axis = {}});
  whole.adapt(x);
  EXPECT_EQ(whole->parameter("mean").variable.shape(), Shape({}));
  EXPECT_EQ(infer(whole, x).shape(), x.shape());
}

TEST(Normalization, RejectsInvalidOptionsAndData) {
  const SymbolicTensor x = input({4, 6, 3});
  EXPECT_THROW((void)Normalization({.mean = {1}}), ValueError);
  EXPECT_THROW((void)Normalization({.mean = {1}, .variance = {-1}}),
               ValueError);
  EXPECT_THROW((void)Normalization({.axis = {0}})(x), ValueError);
  EXPECT_THROW((void)Normalization({.axis = {4}})(x), ValueError);
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Normalization({.mean = {1, 2}, .variance = {1, 2}})(x);
            }),
            (Failure{"count_mismatch", "mean"}));
  const Normalization given({.mean = {1}, .variance = {1}});
  EXPECT_EQ(failure_of<ValueError>([&] {
              given.adapt(noise({2, 3}));
            }),
            (Failure{"conflicting_options", "adapt"}));
  const Normalization layer;
  (void)layer(x);
  EXPECT_EQ(failure_of<ShapeError>([&] {
              layer.adapt(noise({2, 4, 5, 3}));
            }),
            (Failure{"shape_mismatch", "adapt"}));
}

TEST(Normalization, RejectsASecondCallWithOtherStatistics) {
  const Normalization layer;
  (void)layer(input({4, 5, 3}));
  EXPECT_NO_THROW((void)layer(input({6, 7, 3})));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)layer(input({3})); }),
            (Failure{"shape_mismatch", "input"}));
  const Normalization rows({.axis = {1}});
  (void)rows(input({4, 5, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)rows(input({5, 5, 3}));
            }),
            (Failure{"shape_mismatch", "input"}));
}

TEST(Normalization, ReadsKerasConfiguration) {
  const Config config = Config()
                            .set("axis", Config::List{-1})
                            .set("mean", Config())
                            .set("variance", Config());
  const auto layer = create_layer("Normalization", config);
  EXPECT_TRUE(layer->config().at("mean").as_list().empty());
  EXPECT_EQ(create_layer("Normalization", layer->config())->config(),
            layer->config());
}

TEST(ActivityRegularization, AddsToTheLossInTrainingOnly) {
  const SymbolicTensor x = input({2});
  Model model(x, ActivityRegularization({.l1 = 0.5f, .l2 = 0.25f})(x));
  const Variable data(tensor({2, 2}, {1, -2, 3, 0}), true);
  EXPECT_EQ(values(model(data, Mode::training)),
            (std::vector<float>{1, -2, 3, 0}));
  // (0.5 * 6 + 0.25 * 14) / 2
  ASSERT_TRUE(model.regularization_loss());
  EXPECT_EQ(model.regularization_loss().value().item(), 3.25f);
  model.regularization_loss().backward();
  // (0.5 * sign + 0.5 * x) / 2
  EXPECT_EQ(values(data.grad()), (std::vector<float>{0.5f, -0.75f, 1, 0}));
}

TEST(ActivityRegularization, RejectsNegativeFactors) {
  EXPECT_THROW((void)ActivityRegularization({.l1 = -1}), ValueError);
  EXPECT_THROW((void)ActivityRegularization({.l2 = INFINITY}), ValueError);
}

TEST(ActivityRegularization, RoundTripsThroughItsConfiguration) {
  const Config config = ActivityRegularization({.l1 = 0.5f})->config();
  EXPECT_EQ(create_layer("ActivityRegularization", config)->config(), config);
}

}  // namespace
}  // namespace octet
