#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;

Tensor joined(const ConcatenateOptions& options, const Tensor& a,
              const Tensor& b) {
  const SymbolicTensor x = input(a.shape().slice(1, a.shape().rank()));
  const SymbolicTensor y = input(b.shape().slice(1, b.shape().rank()));
  const Model model({x, y}, {Concatenate(options)({x, y})});
  const NoGradGuard no_grad;
  const std::vector<Variable> inputs{Variable(a), Variable(b)};
  return model(inputs)[0].value();
}

TEST(Concatenate, ConcatenatesChannels) {
  const Tensor y = joined({}, Tensor::of<float>({1, 2, 1, 2}, {0, 1, 2, 3}),
                          Tensor::of<float>({1, 2, 1, 1}, {8, 9}));
  EXPECT_EQ(y.shape(), Shape({1, 2, 1, 3}));
  EXPECT_EQ(values(y), (Floats{0, 1, 8, 2, 3, 9}));
}

TEST(Concatenate, AcceptsAnyAxisButTheBatch) {
  const Tensor a = integers({2, 3, 4, 5});
  EXPECT_EQ(joined({.axis = 1}, a, integers({2, 1, 4, 5})).shape(),
            Shape({2, 4, 4, 5}));
  EXPECT_EQ(joined({.axis = 2}, a, integers({2, 3, 2, 5})).shape(),
            Shape({2, 3, 6, 5}));
  EXPECT_EQ(joined({.axis = -3}, a, integers({2, 3, 4, 5})).shape(),
            Shape({2, 6, 4, 5}));
  EXPECT_EQ(values(joined({.axis = 1}, Tensor::of<float>({2, 1}, {1, 2}),
                          Tensor::of<float>({2, 2}, {3, 4, 5, 6}))),
            (Floats{1, 3, 4, 2, 5, 6}));
}

TEST(Concatenate, RejectsTheBatchAxis) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)Concatenate({.axis = 0}); }),
            (Failure{"out_of_range", "axis"}));
  const SymbolicTensor x = input({3});
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Concatenate({.axis = -2})({x, x});
            }),
            (Failure{"out_of_range", "axis"}));
  EXPECT_THROW(Concatenate({.axis = 2})({x, x}), ShapeError);
}

TEST(Concatenate, RejectsShapesThatDoNotFit) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)Concatenate()({input({4, 6, 3}), input({4, 5, 3})});
            }),
            (Failure{"shape_mismatch", "inputs"}));
  EXPECT_THROW(Concatenate()({input({4, 3}), input({3})}), ShapeError);
  EXPECT_THROW(Concatenate()(std::vector<SymbolicTensor>{}), ValueError);
}

TEST(Concatenate, RoundTripsThroughItsConfiguration) {
  const Config config = Concatenate({.axis = 2})->config();
  EXPECT_EQ(create_layer("Concatenate", config)->config(), config);
  EXPECT_EQ(config.at("axis").as_int(), 2);
}

}  // namespace
}  // namespace octet
