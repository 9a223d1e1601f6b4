#include <cmath>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>
#include <octet/train/data_loader.h>

#include "augment_batches.h"

namespace octet::train {
namespace {

using ::testing::ElementsAreArray;

TEST(Mixup, MixesInputsAndLabelsInTheSameProportions) {
  // Each input equals its class, 0 or 1, so a mixed input must equal the mixed
  // label's probability of class 1.
  Batch batch = counting({64, 1, 1, 1});
  for (size_t i = 0; i < 64; ++i) {
    batch.input().f32()[i] = static_cast<float>(i % 2);
  }
  const Batch result = apply_one(mixup({.classes = 3, .alpha = 1}), batch);
  ASSERT_EQ(result.label().shape(), Shape({64, 3}));
  bool mixed = false;
  for (size_t i = 0; i < 64; ++i) {
    const auto row = result.label().f32().subspan(3 * i, 3);
    EXPECT_NEAR(row[1], result.input().f32()[i], 1e-6);
    EXPECT_NEAR(row[0] + row[1], 1, 1e-6);
    EXPECT_EQ(row[2], 0.0f);
    mixed |= row[1] > 0.1f && row[1] < 0.9f;
  }
  EXPECT_TRUE(mixed);
}

TEST(Mixup, DrawsFromTheBetaDistribution) {
  // The batch has the samples 0 and 1. Mixing them gives sample 0 the value
  // l or 1 - l for l ~ Beta(a, a); both have variance 1 / (4 (2 a + 1)).
  for (const float alpha : {0.2f, 1.0f, 4.0f}) {
    Batch batch = counting({2, 1, 1, 1});
    batch.input().f32()[0] = 0;
    batch.input().f32()[1] = 1;
    double sum = 0;
    double squares = 0;
    int64_t count = 0;
    for (uint64_t seed = 0; seed < 20000; ++seed) {
      const Batch result =
          apply_one(mixup({.classes = 2, .alpha = alpha}), batch, seed);
      // In half of the draws, sample 0 is mixed with itself and remains 0.
      const double share = double{result.input().f32()[0]};
      if (share == 0) continue;
      ++count;
      sum += share;
      squares += share * share;
    }
    const double n = static_cast<double>(count);
    const double mean = sum / n;
    EXPECT_NEAR(n, 10000, 300);
    EXPECT_NEAR(mean, 0.5, 0.02);
    EXPECT_NEAR(squares / n - mean * mean, 1 / (4 * (2.0 * alpha + 1)), 0.006);
  }
}

TEST(Mixup, AcceptsAnyPositiveAlpha) {
  for (const float alpha : {1e-30f, 1e-3f, 1e30f}) {
    const Batch result = apply_one(mixup({.classes = 2, .alpha = alpha}),
                                   counting({32, 1, 1, 1}));
    for (const float y : result.label().f32()) {
      EXPECT_GE(y, 0.0f);
      EXPECT_LE(y, 1.0f);
    }
  }
}

TEST(Mixup, MixesSoftLabels) {
  const auto twice = augment({mixup({.classes = 2}), mixup({.classes = 2})},
                             counting({9, 2}), Rng(1), 0);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(twice.label().f32()[2 * i] + twice.label().f32()[2 * i + 1], 1,
                1e-6);
  }
  EXPECT_THROW(augment({mixup({.classes = 2}), mixup({.classes = 3})},
                       counting({9, 2}), Rng(1), 0),
               ShapeError);
}

TEST(Mixup, MixesWeights) {
  Batch batch = counting({64, 1, 1, 1});
  batch.weights = Tensor(Shape{64});
  for (size_t i = 0; i < 64; ++i) {
    batch.weights.f32()[i] = batch.input().f32()[i];
  }
  const Batch result = apply_one(mixup({.classes = 2}), batch);
  EXPECT_THAT(values(result), ElementsAreArray(result.weights.f32()));
}

TEST(Mixup, RejectsLabelsAndOptionsOutOfRange) {
  Batch batch = counting({2, 1});
  batch.label().data<int64_t>()[1] = 2;
  EXPECT_THROW(apply_one(mixup({.classes = 2}), batch), ValueError);
  EXPECT_THROW(mixup({}), ValueError);
  EXPECT_THROW(mixup({.classes = 2, .alpha = 0}), ValueError);
  EXPECT_THROW(mixup({.classes = 2, .alpha = NAN}), ValueError);
}

}  // namespace
}  // namespace octet::train
