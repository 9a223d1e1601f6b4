#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

TEST(LayerNormalization, NormalizesEachPixelByItsMoments) {
  for (const int64_t c : {1, 3, 17}) {
    const Tensor x = noise({2, 3, 4, c});
    const Tensor y = infer(LayerNormalization({.epsilon = 1e-2f}), x);
    ASSERT_EQ(y.shape(), x.shape());
    for (int64_t pixel = 0; pixel < 24; ++pixel) {
      const auto at = [&](const Tensor& t, int64_t k) {
        return double{t.f32()[static_cast<size_t>(pixel * c + k)]};
      };
      const double count = static_cast<double>(c);
      double mean = 0;
      double variance = 0;
      for (int64_t k = 0; k < c; ++k) mean += at(x, k) / count;
      for (int64_t k = 0; k < c; ++k) {
        variance += (at(x, k) - mean) * (at(x, k) - mean) / count;
      }
      for (int64_t k = 0; k < c; ++k) {
        // A few roundings of values of up to 4.
        EXPECT_NEAR(at(y, k), (at(x, k) - mean) / std::sqrt(variance + 1e-2),
                    1e-6);
      }
    }
  }
}

TEST(LayerNormalization, ScalesAndShiftsTheChannels) {
  const LayerNormalization layer;
  const Model model = single(layer, {2});
  layer->parameter("gamma").variable.assign(tensor({2}, {2, 3}));
  layer->parameter("beta").variable.assign(tensor({2}, {10, 20}));
  const NoGradGuard no_grad;
  const auto y = values(model(Variable(tensor({1, 2}, {-1, 1}))));
  // The variance is 1: 1 / sqrt(1 + 1e-3).
  const double unit = 1 / std::sqrt(1.001);
  EXPECT_NEAR(y[0], 10 - 2 * unit, 1e-6);
  EXPECT_NEAR(y[1], 20 + 3 * unit, 2e-6);
}

TEST(LayerNormalization, HasTheRequestedParameters) {
  EXPECT_EQ(single(LayerNormalization(), {3, 5}).parameter_count(), 10);
  EXPECT_EQ(single(LayerNormalization({.scale = false}), {5}).parameter_count(),
            5);
  EXPECT_EQ(single(LayerNormalization({.center = false, .scale = false}), {5})
                .parameter_count(),
            0);
}

TEST(LayerNormalization, AcceptsBothNumbersOfTheLastAxis) {
  EXPECT_NO_THROW(LayerNormalization({.axis = {2}})(input({4, 5})));
  for (const std::vector<int64_t>& axis :
       {std::vector<int64_t>{1}, {1, 2}, {-2}, {}}) {
    EXPECT_EQ(failure_of<UnsupportedError>([&] {
                (void)LayerNormalization({.axis = axis})(input({4, 5}));
              }),
              (Failure{"unsupported_value", "axis"}));
  }
}

TEST(LayerNormalization, AcceptsTheAxisAsNumberOrList) {
  for (const Config& axis : {Config(-1), Config(Config::List{-1})}) {
    const auto layer =
        create_layer("LayerNormalization", Config().set("axis", axis));
    EXPECT_EQ(layer->config().at("axis"), Config(Config::List{-1}));
  }
}

TEST(LayerNormalization, RejectsUnsupportedOptions) {
  EXPECT_EQ(
      failure_of<ValueError>([] { (void)LayerNormalization({.epsilon = 0}); }),
      (Failure{"out_of_range", "epsilon"}));
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              create_layer("LayerNormalization",
                           Config().set("rms_scaling", true));
            }),
            (Failure{"unsupported_value", "rms_scaling"}));
  EXPECT_EQ(
      failure_of<ShapeError>([] { (void)LayerNormalization()(input({})); }),
      (Failure{"invalid_shape", "input"}));
}

}  // namespace
}  // namespace octet
