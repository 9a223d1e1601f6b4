// Layers for comparison and selection.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

TEST(Compare, ReturnsOneForElementsThatSatisfyIt) {
  const auto of = [](const char* operation) {
    return result_of(
        Compare({.operation = operation}),
        {tensor({1, 4}, {1, 2, -3, NAN}), tensor({1, 4}, {2, 2, -4, NAN})});
  };
  EXPECT_THAT(of("equal"), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(of("not_equal"), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(of("greater"), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(of("greater_equal"), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(of("less"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(of("less_equal"), ElementsAre(1, 1, 0, 0));
}

TEST(Compare, AcceptsAConstantAsSecondOperand) {
  const Tensor x = tensor({1, 3}, {-INFINITY, 0, 1});
  EXPECT_THAT(
      result_of(Compare({.operation = "equal", .value = -INFINITY}), {x}),
      ElementsAre(1, 0, 0));
  EXPECT_THAT(result_of(Compare({.operation = "less", .value = 1.0f}), {x}),
              ElementsAre(1, 1, 0));
}

TEST(Where, SelectsElementwiseAndBroadcasts) {
  const Tensor mask = tensor({1, 2, 1}, {1, 0});
  const Tensor x = tensor({1, 2, 2}, {1, 2, 3, 4});
  const Tensor y = tensor({1, 2}, {-1, NAN});
  EXPECT_THAT(result_of(Where(), {mask, x, tensor({1, 2}, {-1, -2})}),
              ElementsAre(1, 2, -1, -2));
  EXPECT_THAT(result_of(Where({.x = 7.0f}), {mask, x}),
              ElementsAre(7, 7, 3, 4));
  EXPECT_THAT(result_of(Where({.y = 0.0f}), {mask, x}),
              ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(result_of(Where({.x = 1.0f, .y = -1.0f}), {mask}),
              ElementsAre(1, -1));
  const auto result = result_of(Where(), {mask, x, y});
  EXPECT_EQ(result[1], 2);  // the NaN is not selected
  EXPECT_TRUE(std::isnan(result[3]));
}

// x * condition + y * (1 - condition) would turn infinite values that are not
// selected into NaN, as would its gradient.
TEST(Where, HasNoGradientForUnselectedElements) {
  const Variable x(tensor({3}, {1, INFINITY, 3}), true);
  const Variable y(tensor({1}, {NAN}), true);
  const Variable chosen =
      where(compare(Comparison::less, x, Tensor::scalar(2)), x, y);
  sum(slice(chosen, 0, 0, 1)).backward();
  EXPECT_THAT(values(x.grad()), ElementsAre(1, 0, 0));
}

TEST(Power, MatchesPow) {
  const Tensor x = tensor({1, 3}, {-2, 0.25, 4});
  EXPECT_THAT(result_of(Power(3), {x}), ElementsAre(-8, 0.015625, 64));
  const auto roots = result_of(Power(0.5f), {x});
  EXPECT_TRUE(std::isnan(roots[0]));
  EXPECT_EQ(roots[2], 2);
}

TEST(Unary, RoundsTiesToEvenAndPropagatesNaN) {
  const Tensor x = tensor({1, 6}, {-1.5, -0.5, 0.5, 2.5, -0.0f, NAN});
  const auto of = [&](const char* operation) {
    auto y = result_of(Unary(operation), {x});
    EXPECT_TRUE(std::isnan(y.back())) << operation;
    y.pop_back();
    return y;
  };
  EXPECT_THAT(of("round"), ElementsAre(-2, 0, 0, 2, 0));
  EXPECT_THAT(of("floor"), ElementsAre(-2, -1, 0, 2, 0));
  EXPECT_THAT(of("ceil"), ElementsAre(-1, 0, 1, 3, 0));
  EXPECT_THAT(of("sign"), ElementsAre(-1, -1, 1, 1, 0));
}

TEST(SelectLayers, RejectInvalidOptions) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)Compare({.operation = "gt"}); }),
            (Failure{"unknown_name", "operation"}));
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)Compare({.operation = "less"})(input({3})); }),
            (Failure{"count_mismatch", "inputs"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)Where({.y = 0.0f})({input({3}), input({3}), input({3})});
            }),
            (Failure{"count_mismatch", "inputs"}));
  EXPECT_THROW((void)Where()({input({3}), input({4}), input({3})}), ShapeError);
  EXPECT_THROW((void)Power(INFINITY), ValueError);
}

}  // namespace
}  // namespace octet
