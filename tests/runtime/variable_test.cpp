#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>

#include "../../runtime/autograd/node.h"
#include "../support.h"

namespace octet {
namespace {

Variable parameter(std::initializer_list<float> values) {
  return Variable(
      Tensor::of<float>({static_cast<int64_t>(values.size())}, values), true);
}

Variable product(const Variable& x, const Variable& y) {
  const auto times = [](const Tensor& a, const Tensor& b) {
    Tensor c(a.shape());
    for (size_t i = 0; i < c.f32().size(); ++i) {
      c.f32()[i] = a.f32()[i] * b.f32()[i % b.f32().size()];
    }
    return c;
  };
  return record("multiply", {x, y}, times(x.value(), y.value()),
                [=, a = x.value(), b = y.value()](const Tensor& dy) {
                  return std::vector{times(dy, b), times(dy, a)};
                });
}

TEST(Variable, ReturnsTheValueOfASingleElement) {
  EXPECT_EQ(sum(parameter({1, 2})).item(), 3);
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)parameter({1, 2}).item();
            }).code,
            failure_of<ShapeError>([] {
              (void)Tensor::of<float>({2}, {1, 2}).item();
            }).code);
}

TEST(Variable, AccumulatesGradientsOverCalls) {
  const Variable x = parameter({1, 2});
  EXPECT_TRUE(x.grad().empty());
  sum(x).backward();
  sum(add(x, x)).backward();
  EXPECT_EQ(x.grad().f32()[0], 3);
  EXPECT_EQ(x.grad().f32()[1], 3);
  x.zero_grad();
  EXPECT_TRUE(x.grad().empty());
}

TEST(Variable, AcceptsAnExternalGradient) {
  const Variable x = parameter({1, 2});
  sum(x).backward();
  x.set_grad(Tensor::of<float>({2}, {5, 7}));
  EXPECT_EQ(x.grad().f32()[1], 7);
  sum(x).backward();
  EXPECT_EQ(x.grad().f32()[1], 8);
  EXPECT_EQ(failure_of<ShapeError>([&] { x.set_grad(Tensor::zeros({3})); }),
            (Failure{"shape_mismatch", "set_grad"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { x.set_grad({}); }),
            (Failure{"shape_mismatch", "set_grad"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              Variable(Tensor::zeros({2})).set_grad(Tensor::zeros({2}));
            }),
            (Failure{"no_gradient", "set_grad"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { add(x, x).set_grad(Tensor::zeros({2})); }),
      (Failure{"invalid_value", "set_grad"}));
}

TEST(Variable, PassesGradientsToAReceiver) {
  const Variable x = parameter({1, 2});
  const Variable y = parameter({3, 4});
  std::vector<std::pair<uint64_t, std::vector<float>>> received;
  const GradientReceiver receive = [&](const Variable& leaf,
                                       const Tensor& gradient) {
    received.emplace_back(leaf.id(), values(gradient));
  };
  sum(add(multiply(x, y), multiply(x, x))).backward(receive);
  using Pair = std::pair<uint64_t, std::vector<float>>;
  EXPECT_THAT(received, testing::UnorderedElementsAre(Pair{x.id(), {5, 8}},
                                                      Pair{y.id(), {1, 2}}));
  EXPECT_TRUE(x.grad().empty());
  sum(multiply(x, y)).backward();
  EXPECT_EQ(received.size(), 2U);
  EXPECT_THAT(values(x.grad()), testing::ElementsAre(3, 4));
}

TEST(Variable, PassesAGradientAsSoonAsItIsComplete) {
  const Variable x = parameter({1, 2});
  const Variable v = parameter({5, 6});
  std::vector<uint64_t> received, received_before;
  const Variable y =
      record("between", {x}, x.value().clone(), [&](const Tensor& dy) {
        received_before = received;
        return std::vector{dy};
      });
  sum(multiply(multiply(y, v), v))
      .backward([&](const Variable& leaf, const Tensor&) {
        received.push_back(leaf.id());
        // No op needs the value any more.
        if (leaf.id() == v.id()) leaf.mutable_value()[0] = 7;
      });
  EXPECT_THAT(received_before, testing::ElementsAre(v.id()));
  EXPECT_THAT(received, testing::ElementsAre(v.id(), x.id()));
}

/// Runs a tape inside another tape with a common leaf.
TEST(Variable, RunsNestedTapes) {
  const Variable w = parameter({1, 2});
  std::vector<float> inner;
  const Variable other = sum(multiply(w, Tensor::of<float>({2}, {10, 20})));
  const auto run_other = [&](const Tensor& dy) {
    other.backward([&](const Variable&, const Tensor& gradient) {
      inner = values(gradient);
    });
    return std::vector{dy};
  };
  const Variable y = record("between", {w}, w.value().clone(), run_other);
  std::vector<float> outer;
  sum(add(y, multiply(w, w)))
      .backward([&](const Variable&, const Tensor& gradient) {
        outer = values(gradient);
      });
  EXPECT_THAT(inner, testing::ElementsAre(10, 20));
  EXPECT_THAT(outer, testing::ElementsAre(3, 5));
}

TEST(Variable, FollowsTheProductRule) {
  const Variable x = parameter({2, 3});
  const Variable y = parameter({5, 7});
  sum(product(x, y)).backward();
  EXPECT_EQ(x.grad().f32()[1], 7);
  EXPECT_EQ(y.grad().f32()[0], 2);
}

TEST(Variable, SumsGradientsOverBroadcastDimensions) {
  const Variable x(Tensor::full({4, 3}, 2), true);
  const Variable y = parameter({1, 2, 3});
  sum(product(x, y)).backward();
  ASSERT_EQ(y.grad().shape(), Shape{3});
  for (const float g : y.grad().f32()) EXPECT_EQ(g, 8);
}

TEST(Variable, SurvivesTenThousandNodes) {
  const Variable x = parameter({1, -1});
  {
    Variable y = x;
    for (int i = 0; i < 10000; ++i) y = add(y, x);
    sum(y).backward();
    EXPECT_EQ(x.grad().f32()[0], 10001);
  }
  // The same without backward: only destructors.
  Variable y = x;
  for (int i = 0; i < 10000; ++i) y = product(y, x);
  y = Variable();
}

TEST(Variable, RejectsASecondBackward) {
  const Variable x = parameter({1});
  const Variable y = sum(x);
  y.backward();
  EXPECT_EQ(failure_of<ValueError>([&] { y.backward(); }),
            (Failure{"invalid_state", "backward"}));
  const Variable z = relu(x);
  sum(z).backward();
  EXPECT_EQ(failure_of<ValueError>([&] { sum(z).backward(); }),
            (Failure{"invalid_state", "backward"}));
}

TEST(Variable, CanBeReadAfterBackward) {
  const Variable x = parameter({-1, 2});
  const Variable y = relu(x);
  sum(y).backward();
  EXPECT_EQ(y.value().f32()[0], 0);
  EXPECT_EQ(y.value().f32()[1], 2);
}

TEST(Variable, RejectsInvalidBackwardCalls) {
  const Variable x = parameter({1, 2});
  EXPECT_EQ(failure_of<ShapeError>([&] { add(x, x).backward(); }),
            (Failure{"invalid_shape", "backward"}));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { sum(Variable(Tensor::scalar(1))).backward(); }),
            (Failure{"no_gradient", "backward"}));
  EXPECT_EQ(failure_of<ValueError>([&] { Variable().backward(); }),
            (Failure{"missing_value", "variable"}));
}

TEST(Variable, IsUsableAfterAGradientFunctionThrew) {
  const Variable x = parameter({1, 2});
  const Variable bad = record(
      "bad", {x}, Tensor::scalar(0), [](const Tensor&) -> std::vector<Tensor> {
        throw ValueError("no_gradient", "bad", "none today");
      });
  EXPECT_EQ(failure_of<ValueError>([&] { bad.backward(); }),
            (Failure{"no_gradient", "bad"}));
  sum(x).backward();
  EXPECT_EQ(x.grad().f32()[0], 1);
}

TEST(Variable, ChecksResultsOfGradientFunctions) {
  const Variable x = parameter({1, 2});
  const auto with = [&](std::vector<Tensor> gradients) {
    return record("op", {x}, Tensor::scalar(0),
                  [=](const Tensor&) { return gradients; });
  };
  EXPECT_EQ(failure_of<ValueError>([&] { with({}).backward(); }),
            (Failure{"count_mismatch", "gradient of op"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { with({Tensor({3})}).backward(); }),
            (Failure{"shape_mismatch", "gradient"}));
  with({Tensor()}).backward();  // empty: zero
  EXPECT_TRUE(x.grad().empty());
}

// In networks that pad before pooling, the padded tensor is the largest.
TEST(Variable, FreesItsValueIfTheTapeDoesNotNeedIt) {
  const Variable x(Tensor::full({1, 2, 3, 1}, 2), true);
  Variable padded = pad2d(x, {1, 1, 1, 1}, 0);
  const Variable pooled = max_pool2d(padded, {2, 2}, {.strides = {2, 2}});
  const autograd::NodePtr node = padded.node();
  {
    const Variable another = padded;
    padded = {};
    EXPECT_FALSE(node->value.empty());
    EXPECT_EQ(another.value().shape(), (Shape{1, 4, 5, 1}));
  }
  EXPECT_TRUE(node->value.empty());
  sum(pooled).backward();
  EXPECT_THAT(values(x.grad()), testing::ElementsAre(1, 1, 0, 1, 1, 0));
}

TEST(Variable, KeepsItsValueForGradientFunctions) {
  const Variable x(Tensor::full({2}, 3), true);
  Variable y = add(x, x);
  Variable z = multiply(y, y);
  y = {};
  z = sum(z);
  z.backward();
  EXPECT_THAT(values(x.grad()), testing::Each(24.0f));
}

TEST(NoGradGuardTest, StopsRecording) {
  const Variable x = parameter({1});
  const NoGradGuard guard;
  EXPECT_FALSE(grad_enabled());
  const Variable y = sum(x);
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(failure_of<ValueError>([&] { y.backward(); }),
            (Failure{"no_gradient", "backward"}));
}

TEST(Variable, IsDetachedFromTheTape) {
  const Variable x = parameter({3});
  sum(product(x, product(x, x).detach())).backward();
  EXPECT_EQ(x.grad().f32()[0], 9);
}

// A reference to the leaf's tensor could be assigned a tensor of another size.
TEST(Variable, PreservesBufferAndShapeOnWrites) {
  const Variable x = parameter({1, 2, 3});
  const float* at = x.value().f32().data();
  const auto elements = x.mutable_value();
  static_assert(!std::is_assignable_v<decltype(x.mutable_value()), Tensor>);
  // The write access would end before the span is used.
  static_assert(!std::is_convertible_v<WriteSpan, std::span<float>>);
  static_assert(std::is_convertible_v<const WriteSpan&, std::span<float>>);
  static_assert(!std::is_assignable_v<decltype(x.value()), Tensor>);
  EXPECT_EQ(elements.data(), at);
  EXPECT_EQ(elements.size(), 3u);
  elements[2] = 7;
  EXPECT_EQ(x.value().f32()[2], 7);
  x.assign(Tensor::full({3}, 4));
  EXPECT_EQ(x.value().f32().data(), at);
  EXPECT_EQ(failure_of<ShapeError>([&] { x.assign(Tensor::full({1}, 4)); }),
            (Failure{"shape_mismatch", "assign"}));
  EXPECT_EQ(values(sum(x)), std::vector<float>{12});
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Variable(Tensor({2}, DType::i64)).mutable_value();
            }),
            (Failure{"dtype_mismatch", "tensor"}));
}

TEST(Variable, DeniesReferencesIntoATemporary) {
  static_assert(
      std::is_same_v<decltype(std::declval<Variable>().value()), Tensor>);
  static_assert(
      std::is_same_v<decltype(std::declval<Variable>().grad()), Tensor>);
  static_assert(
      std::is_same_v<decltype(std::declval<Variable>().shape()), Shape>);
  static_assert(
      std::is_same_v<decltype(std::declval<const Variable&>().value()),
                     const Tensor&>);
}

TEST(Variable, WritesOnlyLeavesInPlace) {
  const Variable x = parameter({1, 2});
  x.assign(Tensor::of<float>({2}, {5, 6}));
  EXPECT_EQ(x.value().f32()[1], 6);
  EXPECT_EQ(failure_of<ShapeError>([&] { x.assign(Tensor({3})); }),
            (Failure{"shape_mismatch", "assign"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)relu(x).mutable_value(); }),
            (Failure{"invalid_value", "mutable_value"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)relu(x).grad(); }),
            (Failure{"invalid_value", "grad"}));
}

TEST(Variable, AdoptsAnUnsharedTensor) {
  const Variable x = parameter({1, 2});
  const Tensor before = x.value();
  x.mutable_value()[0] = 3;
  const uint64_t version = x.version();
  Tensor value = Tensor::of<float>({2}, {5, 6});
  const float* place = value.f32().data();
  x.adopt(std::move(value));
  EXPECT_EQ(x.value().f32().data(), place);
  EXPECT_EQ(values(before), (std::vector<float>{3, 2}));
  EXPECT_GT(x.version(), version);
  // A shared one is copied.
  const Tensor shared = Tensor::of<float>({2}, {7, 8});
  x.adopt(shared);
  EXPECT_EQ(x.value().f32().data(), place);
  EXPECT_EQ(values(x.value()), (std::vector<float>{7, 8}));
  EXPECT_EQ(failure_of<ShapeError>([&] { x.adopt(Tensor({3})); }),
            (Failure{"shape_mismatch", "assign"}));
  EXPECT_EQ(failure_of<ValueError>([&] { relu(x).adopt(Tensor({2})); }),
            (Failure{"invalid_value", "assign"}));
}

TEST(Variable, RejectsNonFloatParameters) {
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)Variable(Tensor({2}, DType::i64), true); }),
            (Failure{"dtype_mismatch", "variable"}));
  EXPECT_NO_THROW(Variable(Tensor({2}, DType::i64)));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Variable(Tensor{}); }),
            (Failure{"missing_value", "variable"}));
}

TEST(Variable, UsesNewWeightsAfterTheyChangeUnderNoGrad) {
  const Variable x(Tensor::full({1, 2}, 1));
  const Variable w(Tensor::full({2, 1}, 1), true);
  const NoGradGuard guard;
  EXPECT_EQ(dense(x, w).value().item(), 2);
  w.assign(Tensor::full({2, 1}, 3));
  EXPECT_EQ(dense(x, w).value().item(), 6);
  w.mutable_value()[0] = 0;
  EXPECT_EQ(dense(x, w).value().item(), 3);
}

}  // namespace
}  // namespace octet
