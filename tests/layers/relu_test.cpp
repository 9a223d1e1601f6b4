#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(ReLU, CutsOffWhatIsNegative) {
  const Tensor x =
      Tensor::of<float>({1, 6}, {-kInfinity, -1, 0, 1e-40f, 2, kInfinity});
  EXPECT_EQ(values(infer(ReLU(), x)),
            (std::vector<float>{0, 0, 0, 1e-40f, 2, kInfinity}));
}

TEST(ReLU, CutsOffWhatIsAboveItsMaximum) {
  const Tensor x = Tensor::of<float>({1, 5}, {-1, 5.5f, 6, 6.5f, kInfinity});
  EXPECT_EQ(values(infer(ReLU({.max_value = 6}), x)),
            (std::vector<float>{0, 5.5f, 6, 6, 6}));
}

TEST(ReLU, KeepsNan) {
  const Tensor x = Tensor::of<float>({1, 1}, {NAN});
  EXPECT_TRUE(std::isnan(infer(ReLU(), x).item()));
  EXPECT_TRUE(std::isnan(infer(ReLU({.max_value = 6}), x).item()));
}

TEST(ReLU, KeepsTheShape) {
  EXPECT_EQ(ReLU()(input({5, 4, 3})).shape(),
            Shape({Shape::kAnySize, 5, 4, 3}));
  EXPECT_EQ(ReLU()(input({})).shape(), Shape({Shape::kAnySize}));
}

TEST(ReLU, RefusesAMaximumThatLeavesNothing) {
  const auto refusal = [](float max_value) {
    return error_of<ValueError>([&] { (void)ReLU({.max_value = max_value}); });
  };
  EXPECT_THAT(refusal(0), HasSubstr("max_value: expected a value > 0, got 0"));
  EXPECT_THAT(refusal(-6), HasSubstr("got -6"));
  EXPECT_THAT(refusal(NAN), HasSubstr("got nan"));
}

TEST(ReLU, HasASlopeBelowItsThreshold) {
  const Tensor x = Tensor::of<float>({1, 5}, {-3, 0, 1, 1.5f, 9});
  EXPECT_EQ(
      values(infer(
          ReLU({.max_value = 6, .negative_slope = 0.25f, .threshold = 1}), x)),
      (std::vector<float>{-1, -0.25f, 0, 1.5f, 6}));
}

TEST(ReLU, RefusesASlopeOrThresholdBelowZero) {
  EXPECT_THAT(error_of<ValueError>([] { (void)ReLU({.negative_slope = -1}); }),
              HasSubstr("negative_slope: expected a finite value of at least "
                        "0, got -1"));
  EXPECT_THROW((void)ReLU({.threshold = NAN}), ValueError);
}

TEST(ReLU, RefusesSeveralInputs) {
  const SymbolicTensor x = input({3});
  EXPECT_THROW(ReLU()({x, x}), ValueError);
}

TEST(ReLU, ComesBackFromItsConfiguration) {
  const Config six = ReLU({.max_value = 6})->config();
  EXPECT_EQ(create_layer("ReLU", six)->config(), six);
  EXPECT_EQ(six.at("max_value").as_number(), 6.0);
}

TEST(ReLU, WritesNoMaximumAsNull) {
  const Config config = ReLU()->config();
  EXPECT_TRUE(config.at("max_value").is_null());
  EXPECT_EQ(create_layer("ReLU", config)->config(), config);
}

}  // namespace
}  // namespace octet
