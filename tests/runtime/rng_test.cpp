#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>

#include "../support.h"

namespace octet {
namespace {

// Known answer of the Random123 distribution (kat_vectors), philox4x32-10 with
// key and counter zero.
TEST(Rng, MatchesThePhiloxReference) {
  Rng rng(0);
  EXPECT_EQ(rng.next(), 0x6627e8d5u);
  EXPECT_EQ(rng.next(), 0xe169c58du);
  EXPECT_EQ(rng.next(), 0xbc57ac4cu);
  EXPECT_EQ(rng.next(), 0x9b00dbd8u);
}

TEST(Rng, DerivesChildrenIndependentlyOfOrder) {
  const Rng root(5);
  Rng a = root.child("conv1/kernel");
  Rng used = root;
  (void)used.next();
  EXPECT_EQ(used.child("conv1/kernel").next(), a.next());
  EXPECT_NE(root.child("conv1/bias").next(), root.child("conv1/kernel").next());
  EXPECT_NE(root.child(uint64_t{1}).next(), root.child(uint64_t{2}).next());
  EXPECT_NE(Rng(6).child("a").next(), Rng(7).child("a").next());
}

TEST(Rng, DrawsUniformlyFromTheHalfOpenInterval) {
  Rng rng(1);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const float u = rng.uniform();
    ASSERT_GE(u, 0.0f);
    ASSERT_LT(u, 1.0f);
    sum += u;
  }
  // Five standard deviations of the mean, each sqrt(1/12/n) = 0.0009.
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

TEST(Rng, DrawsNormalNumbers) {
  Rng rng(2);
  Tensor t({100000});
  rng.fill_normal(t, 3, 2);
  double sum = 0, squares = 0;
  for (const float v : t.f32()) {
    ASSERT_TRUE(std::isfinite(v));
    sum += v;
    squares += v * v;
  }
  const double mean = sum / 100000;
  EXPECT_NEAR(mean, 3, 0.04);
  EXPECT_NEAR(squares / 100000 - mean * mean, 4, 0.1);
}

TEST(Rng, DrawsBelowABound) {
  Rng rng(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 7000; ++i) ++counts[static_cast<size_t>(rng.below(7))];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(rng.below(1), 0);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)rng.below(0); }),
            (Failure{"out_of_range", "Rng::below"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)rng.below(-3); }),
            (Failure{"out_of_range", "Rng::below"}));
}

TEST(Rng, PermutesEveryNumberOnce) {
  Rng rng(4);
  std::vector<int64_t> order = rng.permutation(100);
  EXPECT_FALSE(std::ranges::is_sorted(order));
  std::ranges::sort(order);
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
  EXPECT_TRUE(rng.permutation(0).empty());
  EXPECT_EQ(rng.permutation(1), std::vector<int64_t>{0});
}

}  // namespace
}  // namespace octet
