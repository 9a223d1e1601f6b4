#include <cmath>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;

TEST(Sum, AddsOverAxesAndAllElements) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(values(sum(x)), Floats{15});
  EXPECT_EQ(sum(x).shape(), Shape{});
  EXPECT_EQ(values(sum(x, {0})), (Floats{3, 5, 7}));
  EXPECT_EQ(values(sum(x, {-1})), (Floats{3, 12}));
  EXPECT_EQ(sum(x, {1}, Keepdims::yes).shape(), Shape({2, 1}));
  EXPECT_EQ(values(sum(x, {})), values(x));
  EXPECT_EQ(sum(x, {}).shape(), x.shape());
}

TEST(Sum, IsZeroForNoValues) {
  EXPECT_EQ(values(sum(Variable(Tensor(Shape{0})))), Floats{0});
  EXPECT_EQ(values(sum(Variable(Tensor(Shape{0, 2})), {0})), (Floats{0, 0}));
  EXPECT_EQ(sum(Variable(Tensor(Shape{0, 2})), {1}).shape(), Shape{0});
}

TEST(Sum, HasAnEmptyGradientForImagesWithoutPixels) {
  const Variable x(Tensor({2, 0, 3, 100000}), true);
  const Variable y = sum(x, {1, 2});
  EXPECT_EQ(values(y), Floats(200000, 0));
  mean(y).backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
}

TEST(Sum, IsTheIdentityForScalars) {
  EXPECT_EQ(values(sum(Variable(Tensor::scalar(3)))), Floats{3});
}

TEST(Sum, StaysExactOverManyValues) {
  // A single float would stop at 2^24 of 2^25 ones.
  const Variable x(Tensor::full({1 << 13, 1 << 12}, 1));
  EXPECT_EQ(sum(x).value().item(), 33554432.0f);
  const Variable wide(Tensor::full({1, 1 << 12, 1 << 12, 2}, 1));
  EXPECT_EQ(values(sum(wide, {1, 2})), Floats(2, 16777216.0f));
}

TEST(Sum, IsBitIdenticalForAnyNumberOfThreads) {
  const ThreadCountGuard restored;
  const Variable x(noise({5, 300, 40, 3}));
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Floats all = values(sum(x));
    for (const std::vector<int>& axes :
         {std::vector{0}, {1, 2}, {0, 1, 2}, {3}, {0, 2}}) {
      for (const float v : values(sum(x, axes))) all.push_back(v);
    }
    return all;
  };
  EXPECT_EQ(run(1), run(2));
}

TEST(Sum, RejectsInvalidAndRepeatedAxes) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)sum(x, {2}); }),
            (Failure{"out_of_range", "sum"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)sum(x, {-3}); }),
            (Failure{"out_of_range", "sum"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)sum(x, {1, -1});
            }),
            (Failure{"out_of_range", "sum"}));
}

TEST(Mean, DividesByTheNumberOfValues) {
  const Variable x(counting({2, 2, 3, 2}));
  EXPECT_EQ(values(mean(x, {1, 2})), (Floats{5, 6, 17, 18}));
  EXPECT_EQ(mean(x, {1, 2}, Keepdims::yes).shape(), Shape({2, 1, 1, 2}));
  EXPECT_EQ(values(mean(x)), Floats{11.5});
}

TEST(Mean, RejectsNoValues) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)mean(Variable(Tensor(Shape{2, 0})), {1});
            }),
            (Failure{"invalid_shape", "mean"}));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)mean(Variable(Tensor(Shape{0}))); }),
      (Failure{"invalid_shape", "mean"}));
}

TEST(Mean, EvaluatesDeferredAndQuantizedInputs) {
  const Variable x(noise({2, 3, 5, 17}));
  const QuantParams qparams{.scale = Tensor::scalar(0.25f)};
  const Variable y = fake_quantize(relu(x), qparams);
  Tensor expected(Shape{2, 17});
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t k = 0; k < 17; ++k) {
      double total = 0;
      for (int64_t pixel = 0; pixel < 15; ++pixel) {
        total +=
            y.value().f32()[static_cast<size_t>((n * 15 + pixel) * 17 + k)];
      }
      expected.f32()[static_cast<size_t>(n * 17 + k)] =
          static_cast<float>(total / 15);
    }
  }
  EXPECT_EQ(values(mean(fake_quantize(relu(x), qparams), {1, 2})),
            values(expected));
}

TEST(Max, FindsTheLargest) {
  const Variable x(
      Tensor::of<float>({1, 2, 2, 2}, {-4, 1, -3, 5, -2, 0, -1, 3}));
  EXPECT_EQ(values(max(x, {1, 2})), (Floats{-1, 5}));
  EXPECT_EQ(values(max(x, {3})), (Floats{1, 5, 0, 3}));
  EXPECT_EQ(values(max(x)), Floats{5});
}

TEST(Max, SharesTheGradientAmongEqualValues) {
  const Variable x(Tensor::of<float>({2, 3}, {7, 1, 7, 2, 2, 2}), true);
  sum(max(x, {1})).backward();
  const float third = 1.0f / 3;
  EXPECT_EQ(values(x.grad()), (Floats{0.5, 0, 0.5, third, third, third}));
}

TEST(Max, PropagatesNan) {
  for (const size_t where : {0u, 1u, 2u}) {
    Tensor t = Tensor::zeros({3});
    t.f32()[where] = NAN;
    const Variable x(t, true);
    const Variable y = max(x);
    EXPECT_TRUE(std::isnan(y.value().item())) << where;
    y.backward();
    EXPECT_EQ(x.grad().f32()[where], 1) << where;
  }
}

TEST(Max, AcceptsInfinities) {
  const Variable x(Tensor::full({2, 2}, -INFINITY), true);
  const Variable y = max(x, {0});
  EXPECT_EQ(values(y), (Floats{-INFINITY, -INFINITY}));
  sum(y).backward();
  EXPECT_EQ(values(x.grad()), Floats(4, 0.5));
}

TEST(Max, RejectsNoValues) {
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)max(Variable(Tensor(Shape{0}))); }),
      (Failure{"invalid_shape", "max"}));
}

}  // namespace
}  // namespace octet
