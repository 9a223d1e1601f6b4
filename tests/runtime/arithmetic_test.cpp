#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>

#include "../support.h"

namespace octet {
namespace {

using Binary = Variable (*)(const Variable& x, const Variable& y);

using ::testing::ElementsAre;

Variable leaf(const Shape& shape, std::initializer_list<float> numbers) {
  return Variable(Tensor::of<float>(shape, numbers), true);
}

TEST(Arithmetic, BroadcastsARowWithAColumn) {
  const Variable x = leaf({2, 1}, {1, 2});
  const Variable y = leaf({1, 3}, {10, 20, 30});
  EXPECT_EQ(add(x, y).shape(), Shape({2, 3}));
  EXPECT_THAT(values(add(x, y)), ElementsAre(11, 21, 31, 12, 22, 32));
  EXPECT_THAT(values(subtract(x, y)), ElementsAre(-9, -19, -29, -8, -18, -28));
  EXPECT_THAT(values(multiply(x, y)), ElementsAre(10, 20, 30, 20, 40, 60));
  EXPECT_THAT(values(divide(y, x)), ElementsAre(10, 20, 30, 5, 10, 15));
}

// Returns the element of operand t for element `at` of a broadcast result.
float value_at(const Tensor& t, const Shape& result, int64_t at) {
  int64_t offset = 0;
  int64_t step = 1;
  for (int axis = result.rank() - 1; axis >= 0; --axis) {
    const int64_t index = at % result[axis];
    at /= result[axis];
    const int t_axis = axis - (result.rank() - t.shape().rank());
    if (t_axis < 0) continue;
    if (t.shape()[t_axis] != 1) offset += index * step;
    step *= t.shape()[t_axis];
  }
  return t.f32()[static_cast<size_t>(offset)];
}

TEST(Arithmetic, BroadcastsAlongAnyAxes) {
  const std::pair<Shape, Shape> shapes[] = {
      {{2, 7, 5, 3}, {2, 1, 1, 3}},     {{2, 7, 5, 3}, {3}},
      {{2, 7, 5, 1}, {1, 1, 1, 1}},     {{2, 7, 5, 17}, {7, 1, 17}},
      {{3, 90, 70, 17}, {3, 1, 1, 17}}, {{50, 90, 3}, {1, 1, 3}},
      {{50, 90, 3}, {50, 1, 3}},        {{5, 1, 700}, {1, 9, 700}},
      {{2, 1, 5, 3}, {2, 7, 1, 3}},     {{2, 1, 30}, {3, 1, 40, 30}},
      {{40, 60, 1}, {60, 17}},          {{2, 3, 4, 5, 6}, {2, 1, 4, 1, 6}}};
  for (const auto& [a, b] : shapes) {
    SCOPED_TRACE(a.to_string() + " " + b.to_string());
    const Tensor x = noise(a, 3);
    const Tensor y = noise(b, 4);
    for (const auto& [p, q] : {std::pair(x, y), std::pair(y, x)}) {
      const Tensor z = subtract(Variable(p), Variable(q)).value();
      const auto got = z.f32();
      for (int64_t i = 0; i < z.size(); ++i) {
        ASSERT_EQ(got[static_cast<size_t>(i)],
                  value_at(p, z.shape(), i) - value_at(q, z.shape(), i))
            << i;
      }
    }
  }
}

TEST(Arithmetic, SumsTheGradientOverBroadcastAxes) {
  const Variable x = leaf({2, 1}, {1, 2});
  const Variable y = leaf({3}, {10, 20, 30});
  sum(multiply(x, y)).backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(60, 60));
  EXPECT_THAT(values(y.grad()), ElementsAre(3, 3, 3));
}

TEST(Arithmetic, AcceptsAnEmptyBatch) {
  const Variable x(Tensor({0, 2, 3}), true);
  const Variable y = leaf({3}, {1, 2, 3});
  const Variable z = multiply(x, y);
  EXPECT_EQ(z.shape(), Shape({0, 2, 3}));
  sum(z).backward();
  EXPECT_THAT(values(y.grad()), ElementsAre(0, 0, 0));
}

TEST(Arithmetic, RejectsIncompatibleShapes) {
  const Variable x(Tensor::zeros({2, 3}));
  const Variable y(Tensor::zeros({2, 4}));
  for (const Binary op : {Binary(add), Binary(subtract), Binary(multiply),
                          Binary(divide), Binary(maximum), Binary(minimum)}) {
    EXPECT_EQ(failure_of<ShapeError>([&] { (void)op(x, y); }).code,
              "shape_mismatch");
  }
}

TEST(Arithmetic, IsBitIdenticalForAnyNumberOfThreads) {
  Tensor a({7, 61, 5, 17});
  Tensor b({7, 1, 1, 17});
  Tensor c({61, 1, 1});
  Rng rng(3);
  for (Tensor* t : {&a, &b, &c}) rng.fill_normal(*t, 0, 1);
  const int before = num_threads();
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    const Variable x(a, true), y(b, true), z(c, true);
    const Variable w = maximum(multiply(x, y), divide(x, z));
    sum(w).backward();
    std::vector<float> all = values(w);
    for (const Variable& v : {x, y, z}) {
      for (const float g : v.grad().f32()) all.push_back(g);
    }
    results.push_back(all);
  }
  set_num_threads(before);
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(),
                        results[0].size() * sizeof(float)),
            0);
}

TEST(Arithmetic, SumsManyGradientsExactly) {
  // A sum of ones in float32 would stop at 2^24.
  const Variable x(Tensor::full({1 << 13, 1 << 12}, 1));
  const Variable y(Tensor::scalar(2), true);
  sum(multiply(x, y)).backward();
  EXPECT_EQ(y.grad().item(), float{1 << 25});
}

TEST(Maximum, SplitsTheGradientOfEqualValues) {
  const Variable x = leaf({3}, {1, 2, 3});
  const Variable y = leaf({3}, {3, 2, 1});
  EXPECT_THAT(values(maximum(x, y)), ElementsAre(3, 2, 3));
  sum(maximum(x, y)).backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(0, 0.5f, 1));
  EXPECT_THAT(values(y.grad()), ElementsAre(1, 0.5f, 0));
}

TEST(Minimum, SplitsTheGradientOfEqualValues) {
  const Variable x = leaf({3}, {1, 2, 3});
  const Variable y = leaf({3}, {3, 2, 1});
  EXPECT_THAT(values(minimum(x, y)), ElementsAre(1, 2, 1));
  sum(minimum(x, y)).backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0.5f, 0));
  EXPECT_THAT(values(y.grad()), ElementsAre(0, 0.5f, 1));
}

TEST(Maximum, PropagatesNanOfEitherOperand) {
  const Variable x = leaf({3}, {NAN, 1, INFINITY});
  const Variable y = leaf({3}, {1, NAN, 1});
  for (const Binary op : {Binary(maximum), Binary(minimum)}) {
    const auto z = values(op(x, y));
    EXPECT_TRUE(std::isnan(z[0]));
    EXPECT_TRUE(std::isnan(z[1]));
  }
  EXPECT_EQ(values(maximum(x, y))[2], INFINITY);
}

TEST(Unary, ComputesHandCheckedValues) {
  const Variable x = leaf({4}, {-4, 0, 1, 9});
  EXPECT_THAT(values(scale_shift(x, 2, 1)), ElementsAre(-7, 1, 3, 19));
  EXPECT_THAT(values(negate(x)), ElementsAre(4, 0, -1, -9));
  EXPECT_THAT(values(absolute(x)), ElementsAre(4, 0, 1, 9));
  EXPECT_THAT(values(square(x)), ElementsAre(16, 0, 1, 81));
  EXPECT_TRUE(std::isnan(values(sqrt(x))[0]));
  EXPECT_EQ(values(sqrt(x))[3], 3);
  EXPECT_TRUE(std::isnan(values(log(x))[0]));
  EXPECT_EQ(values(log(x))[1], -INFINITY);
  EXPECT_EQ(values(log(x))[2], 0);
}

TEST(Unary, ErfMatchesTabulatedValues) {
  // Source: Abramowitz and Stegun, table 7.1.
  const Variable x = leaf({5}, {0, 0.5f, -1, 2, 30});
  const auto y = values(erf(x));
  EXPECT_EQ(y[0], 0);
  EXPECT_NEAR(y[1], 0.5204998778f, 1e-7f);
  EXPECT_NEAR(y[2], -0.8427007929f, 1e-7f);
  EXPECT_NEAR(y[3], 0.9953222650f, 1e-7f);
  EXPECT_EQ(y[4], 1);
  EXPECT_TRUE(std::isnan(values(erf(leaf({1}, {NAN})))[0]));
}

TEST(Power, HasZeroGradientForExponentZero) {
  const Variable x(Tensor::of<float>({3}, {0.0f, -0.0f, 2}), true);
  sum(power(x, 0)).backward();
  EXPECT_THAT(values(x.grad()), testing::Each(0.0f));
}

TEST(Unary, AbsoluteHasZeroGradientAtZero) {
  const Variable x = leaf({3}, {-2, 0, 2});
  sum(absolute(x)).backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(-1, 0, 1));
}

}  // namespace
}  // namespace octet
