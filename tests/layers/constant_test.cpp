// Constant: repetition of a value for every sample.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

// Runs the backward pass from y with gradient dy.
void backward(const Variable& y, const Tensor& dy) {
  record("loss", {y}, Tensor::scalar(0), [dy](const Tensor&) {
    return std::vector{dy};
  }).backward();
}

TEST(Constant, RepeatsItsValueForEverySample) {
  const SymbolicTensor x = input({4});
  const Model model(x, Constant({.value = tensor({2, 1}, {3, -5})})(x));
  const Tensor y = model.predict(noise({3, 4}));
  ASSERT_EQ(y.shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(values(y), ElementsAre(3, -5, 3, -5, 3, -5));
  const Model one(x, Constant({.value = Tensor::scalar(7)})(x));
  EXPECT_THAT(values(one.predict(noise({2, 4}))), ElementsAre(7, 7));
}

TEST(Constant, BroadcastsInMergingLayers) {
  const SymbolicTensor x = input({2, 3});
  const Model model(
      x, Maximum()({x, Constant({.value = tensor({2, 1}, {0, 4})})(x)}));
  EXPECT_THAT(values(model.predict(tensor({1, 2, 3}, {-1, 2, 3, 4, 5, -6}))),
              ElementsAre(0, 2, 3, 4, 5, 4));
}

TEST(Constant, IsFrozenByDefault) {
  const SymbolicTensor x = input({2});
  const Constant layer({.value = tensor({2}, {1, 2})});
  const Model model(x, Multiply()({x, layer(x)}));
  EXPECT_TRUE(model.trainable_variables().empty());
  EXPECT_FALSE(model.clone().layers()[1]->trainable());
  layer->set_trainable(true);
  ASSERT_EQ(model.trainable_variables().size(), 1u);
  backward(model(Variable(tensor({2, 2}, {1, 2, 3, 4}))),
           tensor({2, 2}, {1, 1, 1, 1}));
  EXPECT_THAT(values(layer->parameter("value").variable.grad()),
              ElementsAre(1 + 3, 2 + 4));
  EXPECT_TRUE(model.clone().layers()[1]->trainable());
}

TEST(Constant, CloneKeepsItsValue) {
  const SymbolicTensor x = input({2});
  const Model model(x, Constant({.value = tensor({2}, {1, 2})})(x));
  EXPECT_THAT(values(model.clone().predict(noise({1, 2}))), ElementsAre(1, 2));
}

TEST(Constant, RejectsInvalidValues) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)Constant({}); }),
            (Failure{"missing_value", "value"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)Constant({.value = Tensor::of<int64_t>({1}, {3})});
            }),
            (Failure{"dtype_mismatch", "value"}));
  const std::vector<int64_t> dims(Shape::kMaxRank, 1);
  EXPECT_THROW(
      (void)Constant({.value = Tensor(Shape(std::span<const int64_t>(dims)))}),
      ShapeError);
  EXPECT_THROW((void)Constant({.value = Tensor::scalar(1)})(
                   std::vector<SymbolicTensor>{input({1}), input({1})}),
               ValueError);
}

}  // namespace
}  // namespace octet
