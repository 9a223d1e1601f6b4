#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;

Variable ones(const Shape& shape) { return Variable(Tensor::full(shape, 1)); }

TEST(Dropout, PreservesTheExpectation) {
  const auto y = values(dropout(ones({100000}), 0.2f, Rng(3)));
  double kept = 0;
  for (const float v : y) {
    EXPECT_TRUE(v == 0 || v == 1.25f) << v;
    kept += v > 0;
  }
  // Five standard deviations of a binomial: 5 * sqrt(1e5 * 0.2 * 0.8) = 632.
  EXPECT_NEAR(kept, 80000, 632);
}

TEST(Dropout, IsDeterminedByTheStream) {
  const Variable x = ones({3, 5, 7});
  EXPECT_EQ(values(dropout(x, 0.5f, Rng(3))), values(dropout(x, 0.5f, Rng(3))));
  EXPECT_NE(values(dropout(x, 0.5f, Rng(3))), values(dropout(x, 0.5f, Rng(4))));
}

TEST(Dropout, IsBitIdenticalForAnyNumberOfThreads) {
  const ThreadCountGuard restored;
  const Tensor x = noise({7, 50, 33, 3});
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Floats all = values(dropout(Variable(x), 0.3f, Rng(3)));
    for (const float v : values(gaussian_noise(Variable(x), 0.3f, Rng(3)))) {
      all.push_back(v);
    }
    return all;
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(Dropout, DropsWholeChannelsWithANoiseShape) {
  const auto y =
      values(dropout(ones({4, 3, 5, 17}), 0.5f, Rng(1), {4, 1, 1, 17}));
  size_t dropped = 0;
  for (size_t n = 0; n < 4; ++n) {
    for (size_t c = 0; c < 17; ++c) {
      const float first = y[n * 15 * 17 + c];
      dropped += first == 0;
      for (size_t pixel = 0; pixel < 15; ++pixel) {
        EXPECT_EQ(y[(n * 15 + pixel) * 17 + c], first);
      }
    }
  }
  // Expected: 34 of 68; five standard deviations are 21.
  EXPECT_GT(dropped, 13u);
  EXPECT_LT(dropped, 55u);
}

TEST(Dropout, DropsNonFiniteValues) {
  const auto y =
      values(dropout(Variable(Tensor::full({64}, NAN)), 0.5f, Rng(1)));
  EXPECT_THAT(y, ::testing::Contains(0.0f));
  EXPECT_THAT(y, ::testing::Contains(::testing::IsNan()));
}

TEST(Dropout, IsTheIdentityForRateZero) {
  const Tensor x = noise({2, 3});
  EXPECT_EQ(values(dropout(Variable(x), 0, Rng(1))), values(x));
}

TEST(Dropout, AcceptsEmptyTensorsAndScalars) {
  EXPECT_EQ(dropout(Variable(Tensor(Shape{0, 3})), 0.5f, Rng(1)).shape(),
            Shape({0, 3}));
  EXPECT_EQ(dropout(Variable(Tensor(Shape{3, 0})), 0.5f, Rng(1)).shape(),
            Shape({3, 0}));
  EXPECT_EQ(dropout(Variable(Tensor::scalar(1)), 0.5f, Rng(1)).shape(),
            Shape{});
}

TEST(Dropout, RejectsRatesOutOfRange) {
  for (const float rate : {1.0f, -0.1f, NAN, INFINITY}) {
    EXPECT_EQ(
        failure_of<ValueError>([&] { (void)dropout(ones({2}), rate, Rng(1)); }),
        (Failure{"out_of_range", "dropout"}));
  }
}

TEST(Dropout, RejectsIncompatibleNoiseShapes) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)dropout(ones({2, 3}), 0.5f, Rng(1), {2, 2});
            }),
            (Failure{"shape_mismatch", "dropout"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)dropout(ones({2, 3}), 0.5f, Rng(1), {3});
            }),
            (Failure{"shape_mismatch", "dropout"}));
}

TEST(GaussianNoise, HasTheSpecifiedMoments) {
  const auto y = values(gaussian_noise(ones({100000}), 2, Rng(5)));
  double mean = 0;
  double squares = 0;
  for (const float v : y) {
    mean += v / 1e5;
    squares += (v - 1.0) * (v - 1.0) / 1e5;
  }
  // Five standard deviations: 5 * 2 / sqrt(1e5), and 5 * 4 * sqrt(2 / 1e5).
  EXPECT_NEAR(mean, 1, 0.032);
  EXPECT_NEAR(squares, 4, 0.09);
}

TEST(GaussianNoise, RejectsDeviationsOutOfRange) {
  for (const float stddev : {-1.0f, NAN, INFINITY}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { (void)gaussian_noise(ones({2}), stddev, Rng(1)); }),
              (Failure{"out_of_range", "gaussian_noise"}));
  }
  EXPECT_EQ(values(gaussian_noise(ones({2}), 0, Rng(1))), (Floats{1, 1}));
}

}  // namespace
}  // namespace octet
