// Layers on tokens: ClassToken, PositionEmbedding, SelectToken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

// Runs the backward pass from y with gradient dy.
void backward(const Variable& y, const Tensor& dy) {
  record("loss", {y}, Tensor::scalar(0), [dy](const Tensor&) {
    return std::vector{dy};
  }).backward();
}

TEST(ClassToken, PrependsItsToken) {
  const ClassToken layer;
  const Model model = single(layer, {2, 3});
  layer->parameter("class_token").variable.assign(tensor({1, 1, 3}, {7, 8, 9}));
  const Tensor x = integers({2, 2, 3});
  const NoGradGuard no_grad;
  const Tensor y = model(Variable(x)).value();
  ASSERT_EQ(y.shape(), (Shape{2, 3, 3}));
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(values(y.slice(i, 1).reshaped({3, 3}).slice(0, 1)),
              (std::vector<float>{7, 8, 9}));
    EXPECT_EQ(values(y.slice(i, 1).reshaped({3, 3}).slice(1, 2)),
              values(x.slice(i, 1)));
  }
}

TEST(ClassToken, LearnsFromEverySample) {
  const ClassToken layer;
  const Model model = single(layer, {1, 2});
  const Variable x(noise({3, 1, 2}), true);
  // Tokens of two features, [n][token][feature]: 0, 1, 2, ...
  Tensor dy({3, 2, 2});
  for (size_t i = 0; i < 12; ++i) dy.f32()[i] = static_cast<float>(i);
  backward(model(x), dy);
  EXPECT_EQ(values(layer->parameter("class_token").variable.grad()),
            (std::vector<float>{0 + 4 + 8, 1 + 5 + 9}));
  EXPECT_EQ(values(x.grad()), (std::vector<float>{2, 3, 6, 7, 10, 11}));
}

TEST(ClassToken, StartsAtZeroByDefault) {
  const ClassToken zero;
  const Model a = single(zero, {1, 2});
  EXPECT_EQ(values(zero->parameter("class_token").variable),
            (std::vector<float>{0, 0}));
  const ClassToken one({.token_initializer = ones()});
  const Model b = single(one, {1, 2});
  EXPECT_EQ(values(one->parameter("class_token").variable),
            (std::vector<float>{1, 1}));
}

TEST(PositionEmbedding, AddsAVectorToEveryPosition) {
  const PositionEmbedding layer;
  const Model model = single(layer, {2, 3});
  const Tensor embedding = integers({1, 2, 3}, 3);
  layer->parameter("position_embedding").variable.assign(embedding);
  const Tensor x = integers({5, 2, 3});
  const Variable in(x, true);
  const Variable y = model(in);
  for (size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(y.value().f32()[i], x.f32()[i] + embedding.f32()[i % 6]);
  }
  backward(y, Tensor::full({5, 2, 3}, 1));
  EXPECT_EQ(values(layer->parameter("position_embedding").variable.grad()),
            std::vector<float>(6, 5));
  EXPECT_EQ(values(in.grad()), std::vector<float>(30, 1));
}

TEST(PositionEmbedding, RejectsAnotherLengthInASecondCall) {
  const PositionEmbedding layer({.name = "places"});
  (void)layer(input({4, 3}));
  EXPECT_NO_THROW(layer(input({4, 3})));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)layer(input({5, 3}));
            }),
            (Failure{"shape_mismatch", "input"}));
}

TEST(SelectToken, SelectsATokenFromEitherEnd) {
  const Tensor x = integers({2, 3, 2}, 1);  // -6, -5, ..., 5
  EXPECT_EQ(values(infer(SelectToken(), x)),
            (std::vector<float>{-6, -5, 0, 1}));
  for (const int64_t last : {2, -1}) {
    EXPECT_EQ(values(infer(SelectToken({.index = last}), x)),
              (std::vector<float>{-2, -1, 4, 5}));
  }
  EXPECT_EQ(infer(SelectToken(), noise({1, 1, 17})).shape(), (Shape{1, 17}));
}

TEST(SelectToken, HasNoGradientForOtherTokens) {
  const Model model = single(SelectToken({.index = 1}), {3, 2});
  const Variable x(noise({1, 3, 2}), true);
  backward(model(x), tensor({1, 2}, {3, 4}));
  EXPECT_EQ(values(x.grad()), (std::vector<float>{0, 0, 3, 4, 0, 0}));
}

TEST(SelectToken, RejectsAnIndexOutOfRange) {
  for (const int64_t index : {3, -4}) {
    EXPECT_EQ(failure_of<ShapeError>([&] {
                (void)SelectToken({.index = index})(input({3, 2}));
              }),
              (Failure{"out_of_range", "index"}));
  }
}

TEST(TokenLayers, RejectInputsOtherThanTokens) {
  for (const Shape& sample : {Shape{3}, Shape{4, 6, 3}}) {
    for (const LayerHandle& layer :
         {LayerHandle(ClassToken()), LayerHandle(PositionEmbedding()),
          LayerHandle(SelectToken())}) {
      EXPECT_EQ(failure_of<ShapeError>([&] { (void)layer(input(sample)); }),
                (Failure{"invalid_shape", "input"}));
    }
  }
}

}  // namespace
}  // namespace octet
