// Operators, against the functions and closed forms.
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

std::vector<float> numbers(const Variable& x) {
  const auto data = x.value().f32();
  return {data.begin(), data.end()};
}

TEST(Operators, ComputeTheirFunctions) {
  const Variable x(Tensor::of<float>({3}, {1, -2, 4}));
  const Variable y(Tensor::of<float>({3}, {2, 8, -0.5f}));
  EXPECT_THAT(numbers(x + y), ElementsAre(3, 6, 3.5f));
  EXPECT_THAT(numbers(x - y), ElementsAre(-1, -10, 4.5f));
  EXPECT_THAT(numbers(x * y), ElementsAre(2, -16, -2));
  EXPECT_THAT(numbers(x / y), ElementsAre(0.5f, -0.25f, -8));
  EXPECT_THAT(numbers(-x), ElementsAre(-1, 2, -4));
  EXPECT_THAT(numbers(2 * x - 0.5), ElementsAre(1.5f, -4.5f, 7.5f));
  EXPECT_THAT(numbers(1 - x), ElementsAre(0, 3, -3));
  EXPECT_THAT(numbers(x + 3), ElementsAre(4, 1, 7));
  EXPECT_THAT(numbers(8 / x), ElementsAre(8, -4, 2));
}

TEST(Operators, DivideInsteadOfMultiplyingByTheReciprocal) {
  const Variable x(Tensor::of<float>({2}, {5, 7}));
  EXPECT_THAT(numbers(x / 3), ElementsAre(5.0f / 3.0f, 7.0f / 3.0f));
  EXPECT_THAT(numbers(x / 49), ElementsAre(5.0f / 49.0f, 7.0f / 49.0f));
}

TEST(Operators, Broadcast) {
  const Variable x(Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  const Variable row(Tensor::of<float>({2}, {10, 20}));
  EXPECT_THAT(numbers(x + row), ElementsAre(11, 22, 13, 24));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)(x + Variable(Tensor::zeros({3}))); }),
      (Failure{"shape_mismatch", "add"}));
}

TEST(Operators, HaveGradients) {
  const Variable x(Tensor::of<float>({2}, {3, 5}), true);
  const Variable y(Tensor::of<float>({2}, {2, 4}), true);
  // sum(2 x y - x / y + 1): 2 y - 1 / y and 2 x + x / y^2.
  sum(2 * x * y - x / y + 1).backward();
  EXPECT_THAT(std::vector<float>(x.grad().f32().begin(), x.grad().f32().end()),
              ElementsAre(3.5f, 7.75f));
  EXPECT_THAT(std::vector<float>(y.grad().f32().begin(), y.grad().f32().end()),
              ElementsAre(6.75f, 10.3125f));
}

TEST(Operators, SelectAnEntryOfTheFirstAxis) {
  const Variable x(Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}), true);
  EXPECT_EQ(x[1].shape(), Shape({2}));
  EXPECT_THAT(numbers(x[1]), ElementsAre(3, 4));
  EXPECT_THAT(numbers(x[-1]), ElementsAre(5, 6));
  EXPECT_EQ(x[2][0].value().item(), 5);
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)x[3]; }),
            (Failure{"out_of_range", "operator[]"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)x[-4]; }),
            (Failure{"out_of_range", "operator[]"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)x[0][0][0]; }),
            (Failure{"invalid_shape", "operator[]"}));
  x[-2][1].backward();
  EXPECT_THAT(std::vector<float>(x.grad().f32().begin(), x.grad().f32().end()),
              ElementsAre(0, 0, 0, 1, 0, 0));
}

// `w -= rate * w.grad()` would leave the parameter unchanged.
template <class T>
concept Compounds = requires(T a, T b) {
  a -= b;
};
static_assert(!Compounds<Variable>);

}  // namespace
}  // namespace octet
