#include <algorithm>
#include <array>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

/// Every layer class on images [9,7,3], with arbitrary statistics and weights.
Model network() {
  const SymbolicTensor x = input({9, 7, 3});
  SymbolicTensor y = Conv2D({.filters = 17, .padding = Padding::same})(x);
  y = MaxPooling2D()(ReLU()(BatchNormalization()(y)));
  y = Conv2D({.filters = 5, .kernel_size = {2, 2}, .use_bias = false})(y);
  y = ReLU({.max_value = 6})(BatchNormalization()(y));
  Model model(x, Softmax()(Dense({.units = 10})(Flatten()(y))));
  shake(model);
  return model;
}

Tensor whole(const Model& model, const Tensor& x) {
  const NoGradGuard no_grad;
  return model(Variable(x)).value();
}

class PredictOf : public ::testing::TestWithParam<int64_t> {};

TEST_P(PredictOf, ImagesMatchesTheWholeBatchBitwise) {
  const ThreadCountGuard restored;
  const Model model = network();
  const Tensor x = noise({GetParam(), 9, 7, 3});
  set_num_threads(1);
  const auto expected = bits(whole(model, x));
  EXPECT_EQ(bits(model.predict(x)), expected);
  set_num_threads(2);
  EXPECT_EQ(bits(model.predict(x)), expected);
  EXPECT_EQ(bits(whole(model, x)), expected);
}

// Batch sizes below, at and above a chunk, and several chunks.
INSTANTIATE_TEST_SUITE_P(Predict, PredictOf, ::testing::Values(1, 7, 8, 9, 40));

TEST(Predict, MatchesSingleImagesBitwise) {
  const Model model = network();
  const Tensor x = noise({9, 9, 7, 3});
  const Tensor all = model.predict(x);
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(bits(model.predict(x.slice(i, 1).clone())),
              bits(all.slice(i, 1)));
  }
}

TEST(Predict, IsIndependentOfGradientRecording) {
  const Model model = network();
  const Tensor x = noise({9, 9, 7, 3});
  const auto recorded = bits(model.predict(x));
  const NoGradGuard no_grad;
  EXPECT_EQ(bits(model.predict(x)), recorded);
}

TEST(Predict, RunsInTwoThreadsOnOneModel) {
  const Model model = network();
  const Tensor few = noise({5, 9, 7, 3}, 2);
  const Tensor many = noise({40, 9, 7, 3}, 3);
  const auto expected_few = bits(model.predict(few));
  const auto expected_many = bits(model.predict(many));
  const Model fresh = network();  // nothing packed or cached yet
  std::vector<std::vector<uint32_t>> results(8);
  const auto work = [&](size_t first) {
    for (size_t i = first; i < results.size(); i += 2) {
      results[i] = bits(fresh.predict((i / 2 + first) % 2 == 0 ? few : many));
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_few = (i / 2 + i % 2) % 2 == 0;
    EXPECT_EQ(results[i], is_few ? expected_few : expected_many) << i;
  }
}

TEST(Predict, UsesUpdatedWeights) {
  const Model model = network();
  const Tensor x = noise({3, 9, 7, 3});
  const auto before = bits(model.predict(x));
  shake(model, 77);
  EXPECT_NE(bits(model.predict(x)), before);
  shake(model);
  EXPECT_EQ(bits(model.predict(x)), before);
}

TEST(Predict, PreservesItsInputAndReturnsANewTensor) {
  const SymbolicTensor x = input({2});
  const Model identity(x, x);
  const Tensor data = tensor({1, 2}, {1, 2});
  Tensor answer = identity.predict(data);
  answer.f32()[0] = 99;
  EXPECT_EQ(data.f32()[0], 1);
}

TEST(Predict, AcceptsScalarSamples) {
  const SymbolicTensor x = input({});
  const Model model(x, Flatten()(x));
  EXPECT_EQ(model.predict(Tensor::zeros({20})).shape(), Shape({20, 1}));
}

TEST(Predict, RejectsAnInputOfAnotherShape) {
  const Model model = network();
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)model.predict(Tensor::zeros({2, 7, 9, 3}));
            }),
            (Failure{"shape_mismatch", "input 'input_layer'"}));
  EXPECT_THROW(model.predict(Tensor::zeros({0, 9, 7, 3})), ShapeError);
  EXPECT_THROW(model.predict(Tensor::scalar(0)), ShapeError);
}

TEST(Predict, RejectsAnEmptyTensor) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)network().predict(Tensor()); }),
            (Failure{"missing_value", "predict"}));
}

TEST(Predict, RejectsAWrongNumberOfInputsOrOutputs) {
  const SymbolicTensor a = input({2});
  const SymbolicTensor b = input({2});
  const Tensor x = Tensor::zeros({1, 2});
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Model({a, b}, {Sum()({a, b})}).predict(x);
            }),
            (Failure{"count_mismatch", "model 'model'"}));
  EXPECT_THROW(Model({a}, {a, ReLU()(a)}).predict(x), ValueError);
}

TEST(Predict, SupportsSeveralInputsAndOutputs) {
  const SymbolicTensor a = input({2});
  const SymbolicTensor b = input({2});
  const SymbolicTensor sum = Sum()({a, b});
  const Model model({a, b}, {ReLU()(sum), sum});
  const Tensor x = integers({20, 2});
  const Tensor y = integers({20, 2}, 5);
  const auto both = model.predict(std::array{x, y});
  ASSERT_EQ(both.size(), 2u);
  for (size_t i = 0; i < 40; ++i) {
    const float expected = x.f32()[i] + y.f32()[i];
    EXPECT_EQ(both[1].f32()[i], expected);
    EXPECT_EQ(both[0].f32()[i], std::max(expected, 0.0f));
  }
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)model.predict(std::array{x, integers({19, 2})});
            }),
            (Failure{"shape_mismatch", "inputs"}));
}

}  // namespace
}  // namespace octet
