#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ReLU, ClampsNegativeInputs) {
  const Tensor x =
      Tensor::of<float>({1, 6}, {-kInfinity, -1, 0, 1e-40f, 2, kInfinity});
  EXPECT_EQ(values(infer(ReLU(), x)),
            (std::vector<float>{0, 0, 0, 1e-40f, 2, kInfinity}));
}

TEST(ReLU, ClampsToItsMaximum) {
  const Tensor x = Tensor::of<float>({1, 5}, {-1, 5.5f, 6, 6.5f, kInfinity});
  EXPECT_EQ(values(infer(ReLU({.max_value = 6}), x)),
            (std::vector<float>{0, 5.5f, 6, 6, 6}));
}

TEST(ReLU, PropagatesNan) {
  const Tensor x = Tensor::of<float>({1, 1}, {NAN});
  EXPECT_TRUE(std::isnan(infer(ReLU(), x).item()));
  EXPECT_TRUE(std::isnan(infer(ReLU({.max_value = 6}), x).item()));
}

TEST(ReLU, KeepsTheShape) {
  EXPECT_EQ(ReLU()(input({5, 4, 3})).shape(),
            Shape({Shape::kAnySize, 5, 4, 3}));
  EXPECT_EQ(ReLU()(input({})).shape(), Shape({Shape::kAnySize}));
}

TEST(ReLU, RejectsAMaximumBelowOrAtZero) {
  const auto failure = [](float max_value) {
    return failure_of<ValueError>(
        [&] { (void)ReLU({.max_value = max_value}); });
  };
  EXPECT_EQ(failure(0), (Failure{"out_of_range", "max_value"}));
  EXPECT_EQ(failure(-6), (Failure{"out_of_range", "max_value"}));
  EXPECT_EQ(failure(NAN), (Failure{"out_of_range", "max_value"}));
}

TEST(ReLU, HasASlopeBelowItsThreshold) {
  const Tensor x = Tensor::of<float>({1, 5}, {-3, 0, 1, 1.5f, 9});
  EXPECT_EQ(
      values(infer(
          ReLU({.max_value = 6, .negative_slope = 0.25f, .threshold = 1}), x)),
      (std::vector<float>{-1, -0.25f, 0, 1.5f, 6}));
}

TEST(ReLU, RejectsANegativeSlopeOrThreshold) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)ReLU({.negative_slope = -1}); }),
            (Failure{"out_of_range", "negative_slope"}));
  EXPECT_THROW((void)ReLU({.threshold = NAN}), ValueError);
}

TEST(ReLU, RejectsSeveralInputs) {
  const SymbolicTensor x = input({3});
  EXPECT_THROW(ReLU()({x, x}), ValueError);
}

TEST(ReLU, RoundTripsThroughItsConfiguration) {
  const Config six = ReLU({.max_value = 6})->config();
  EXPECT_EQ(create_layer("ReLU", six)->config(), six);
  EXPECT_EQ(six.at("max_value").as_number(), 6.0);
}

TEST(ReLU, WritesAnUnsetMaximumAsNull) {
  const Config config = ReLU()->config();
  EXPECT_TRUE(config.at("max_value").is_null());
  EXPECT_EQ(create_layer("ReLU", config)->config(), config);
}

}  // namespace
}  // namespace octet
