#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

// Expects y = x * kernel + bias, bit for bit: the sums of integers are exact.
void expect_definition(const Tensor& x, int64_t units) {
  const Dense layer({.units = units});
  const Model model = single(layer, x.shape().slice(1, x.shape().rank()));
  const int64_t c = x.shape()[-1];
  const Tensor kernel = integers({c, units}, 5);
  const Tensor bias = integers({units}, 3);
  layer->parameter("kernel").variable.assign(kernel);
  layer->parameter("bias").variable.assign(bias);
  const auto at = [](const Tensor& t, int64_t index) {
    return static_cast<double>(t.f32()[static_cast<size_t>(index)]);
  };
  std::vector<float> expected;
  for (int64_t row = 0; row < x.size() / c; ++row) {
    for (int64_t unit = 0; unit < units; ++unit) {
      double sum = at(bias, unit);
      for (int64_t ic = 0; ic < c; ++ic) {
        sum += at(x, row * c + ic) * at(kernel, ic * units + unit);
      }
      expected.push_back(static_cast<float>(sum));
    }
  }
  const NoGradGuard no_grad;
  const Tensor y = model(Variable(x)).value();
  EXPECT_EQ(y.shape(), x.shape().with(-1, units));
  EXPECT_EQ(values(y), expected);
}

TEST(Dense, ComputesAHandCheckedExample) {
  const Dense layer({.units = 2});
  const Model model = single(layer, {3});
  layer->parameter("kernel").variable.assign(
      Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  layer->parameter("bias").variable.assign(Tensor::of<float>({2}, {10, 20}));
  const NoGradGuard no_grad;
  EXPECT_EQ(values(model(Variable(Tensor::of<float>({1, 3}, {1, 0, -1})))),
            (std::vector<float>{6, 16}));
}

TEST(Dense, FollowsItsDefinitionForAnyWidths) {
  for (const int64_t c : {1, 3, 17}) {
    for (const int64_t units : {1, 3, 17}) {
      for (const int64_t n : {1, 2, 33}) {
        SCOPED_TRACE(::testing::Message()
                     << n << " x " << c << " -> " << units);
        expect_definition(integers({n, c}), units);
      }
    }
  }
}

TEST(Dense, AppliesToTheLastAxisOfAnyRank) {
  expect_definition(integers({2, 4, 5, 3}), 7);
  expect_definition(integers({2, 4, 17}), 1);
}

TEST(Dense, ComputesItsOutputShape) {
  EXPECT_EQ(Dense({.units = 4})(input({7})).shape(),
            Shape({Shape::kAnySize, 4}));
  EXPECT_EQ(Dense({.units = 4})(input({2, 5, 3})).shape(),
            Shape({Shape::kAnySize, 2, 5, 4}));
}

TEST(Dense, HasKerasParametersWithGlorotWeightsAndZeroBias) {
  const Dense layer({.units = 20});
  const Model model = single(layer, {30});
  ASSERT_EQ(layer->parameters().size(), 2u);
  EXPECT_EQ(layer->parameters()[0].name, "kernel");
  EXPECT_EQ(layer->parameters()[0].variable.shape(), Shape({30, 20}));
  EXPECT_EQ(layer->parameters()[1].name, "bias");
  const float limit = std::sqrt(6.0f / 50.0f);
  float largest = 0;
  for (const float w : values(layer->parameters()[0].variable)) {
    largest = std::max(largest, std::fabs(w));
  }
  EXPECT_LE(largest, limit);
  // The probability of 600 smaller uniform values is 1e-8.
  EXPECT_GT(largest, 0.97f * limit);
  EXPECT_EQ(values(layer->parameters()[1].variable),
            std::vector<float>(20, 0.0f));
}

TEST(Dense, HasNoBiasIfDisabled) {
  const Model model = single(Dense({.units = 4, .use_bias = false}), {6});
  EXPECT_EQ(model.parameter_count(), 24);
}

TEST(Dense, CountsItsMultiplyAdds) {
  const Shape row{Shape::kAnySize, 30};
  const Shape image{Shape::kAnySize, 4, 5, 30};
  const Dense layer({.units = 20});
  EXPECT_EQ(layer->facts(std::span(&row, 1)).multiply_adds, 600);
  EXPECT_EQ(layer->facts(std::span(&image, 1)).multiply_adds, 12000);
}

TEST(Dense, PropagatesInfinity) {
  const Tensor x = Tensor::of<float>({1, 1}, {INFINITY});
  EXPECT_TRUE(std::isinf(infer(Dense({.units = 1}), x).item()));
}

TEST(Dense, RejectsUnitsBelowOne) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)Dense({}); }),
            (Failure{"out_of_range", "units"}));
  EXPECT_EQ(failure_of<ValueError>([] { (void)Dense({.units = -1}); }),
            (Failure{"out_of_range", "units"}));
}

TEST(Dense, RejectsInputsOfRankOne) {
  const Failure failure = failure_of<ShapeError>(
      [] { (void)Dense({.units = 1, .name = "logits"})(input({})); });
  EXPECT_EQ(failure, (Failure{"invalid_shape", "input"}));
}

TEST(Dense, RoundTripsThroughItsConfiguration) {
  const Config config = Dense({.units = 12, .use_bias = false})->config();
  EXPECT_EQ(create_layer("Dense", config)->config(), config);
  EXPECT_EQ(config.at("units").as_int(), 12);
  EXPECT_FALSE(config.at("use_bias").as_bool());
}

}  // namespace
}  // namespace octet
