#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

TEST(Merge, CombinesThreeInputsElementwise) {
  const std::vector<Tensor> x{tensor({1, 3}, {1, -2, 6}),
                              tensor({1, 3}, {4, 5, 6}),
                              tensor({1, 3}, {-8, 0, 3})};
  EXPECT_EQ(result_of(Add(), x), (std::vector<float>{-3, 3, 15}));
  EXPECT_EQ(result_of(Multiply(), x), (std::vector<float>{-32, 0, 108}));
  EXPECT_EQ(result_of(Average(), x), (std::vector<float>{-1, 1, 5}));
  EXPECT_EQ(result_of(Maximum(), x), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(result_of(Minimum(), x), (std::vector<float>{-8, -2, 3}));
}

TEST(Merge, SubtractsTheSecondFromTheFirst) {
  EXPECT_EQ(
      result_of(Subtract(), {tensor({1, 2}, {1, 2}), tensor({1, 2}, {5, 1})}),
      (std::vector<float>{-4, 1}));
}

TEST(Merge, BroadcastsAVectorOverImages) {
  // [2,3] is treated as [2,1,1,3]: a factor per image and channel.
  const Tensor x = integers({2, 2, 5, 3});
  const Tensor gate = tensor({2, 3}, {1, 2, 3, -1, 0, 4});
  const auto y = result_of(Multiply(), {x, gate});
  ASSERT_EQ(y.size(), 60u);
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i], x.f32()[i] * gate.f32()[i / 30 * 3 + i % 3]) << i;
  }
}

TEST(Merge, HasTheBroadcastShape) {
  constexpr int64_t n = Shape::kAnySize;
  const auto shape = [](const Shape& a, const Shape& b) {
    return Add()({input(a), input(b)}).shape();
  };
  EXPECT_EQ(shape({4, 6, 3}, {4, 6, 3}), Shape({n, 4, 6, 3}));
  EXPECT_EQ(shape({1, 6, 1}, {4, 1, 3}), Shape({n, 4, 6, 3}));
  EXPECT_EQ(shape({3}, {4, 6, 3}), Shape({n, 4, 6, 3}));
  EXPECT_EQ(shape({}, {2}), Shape({n, 2}));
}

TEST(Merge, RejectsShapesThatDoNotFit) {
  const SymbolicTensor a = input({4, 6, 3});
  const SymbolicTensor b = input({4, 5, 3});
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Add({.name = "sum"})({a, a, b});
            }),
            (Failure{"shape_mismatch", "inputs"}));
}

TEST(Merge, ForwardsASingleInputAsKeras) {
  const std::vector<Tensor> x{tensor({1, 2}, {1, -2})};
  for (const LayerHandle& layer :
       std::vector<LayerHandle>{Add(), Multiply(), Average(), Maximum()}) {
    EXPECT_EQ(result_of(layer, x), (std::vector<float>{1, -2}));
  }
}

TEST(Merge, RejectsAWrongNumberOfInputs) {
  const SymbolicTensor x = input({3});
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Subtract()(x); }),
            (Failure{"count_mismatch", "inputs"}));
  EXPECT_THROW((void)Subtract()({x, x, x}), ValueError);
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)Add()(std::vector<SymbolicTensor>()); }),
            (Failure{"count_mismatch", "inputs"}));
}

TEST(Merge, PropagatesNan) {
  const std::vector<Tensor> x{tensor({1, 2}, {NAN, 1}),
                              tensor({1, 2}, {1, NAN})};
  for (const LayerHandle& layer : std::vector<LayerHandle>{
           Add(), Multiply(), Average(), Maximum(), Minimum(), Subtract()}) {
    for (const float v : result_of(layer, x)) EXPECT_TRUE(std::isnan(v));
  }
}

TEST(Merge, AcceptsATensorTwice) {
  const SymbolicTensor x = input({3});
  const Model model(x, Add()({x, x}));
  EXPECT_EQ(values(model.predict(tensor({1, 3}, {1, 2, 3}))),
            (std::vector<float>{2, 4, 6}));
}

TEST(Merge, CloneHasItsClass) {
  const SymbolicTensor x = input({3});
  const Model copy = Model(x, Average()({x, x, x})).clone();
  EXPECT_EQ(copy.layers()[1]->class_name(), "Average");
  EXPECT_EQ(names(copy)[1], "average");
}

}  // namespace
}  // namespace octet
