#include <cmath>

#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

TEST(Softmax, ComputesAHandCheckedExample) {
  const auto y = values(
      infer(Softmax(),
            Tensor::of<float>({1, 3}, {0, std::log(2.0f), std::log(5.0f)})));
  // Two roundings of the logarithms and three of the result.
  EXPECT_NEAR(y[0], 0.125, 1e-7);
  EXPECT_NEAR(y[1], 0.25, 1e-7);
  EXPECT_NEAR(y[2], 0.625, 1e-7);
}

TEST(Softmax, NormalizesTheLastAxisOfImages) {
  for (const int64_t c : {1, 3, 17}) {
    const Tensor y = infer(Softmax(), noise({2, 3, 4, c}));
    EXPECT_EQ(y.shape(), Shape({2, 3, 4, c}));
    const auto data = values(y);
    for (size_t pixel = 0; pixel < 24; ++pixel) {
      double sum = 0;
      for (size_t k = 0; k < static_cast<size_t>(c); ++k) {
        sum += data[pixel * static_cast<size_t>(c) + k];
      }
      EXPECT_NEAR(sum, 1.0, 1e-6);
    }
  }
}

TEST(Softmax, DoesNotOverflow) {
  const auto y = values(infer(
      Softmax(), Tensor::of<float>({2, 2}, {1e38f, -1e38f, -1e38f, -1e38f})));
  EXPECT_EQ(y, (std::vector<float>{1, 0, 0.5f, 0.5f}));
}

TEST(Softmax, PropagatesNanWithinARow) {
  const auto y =
      values(infer(Softmax(), Tensor::of<float>({2, 2}, {NAN, 1, 0, 0})));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
  EXPECT_EQ(y[2], 0.5f);
}

TEST(Softmax, NormalizesTheGivenAxis) {
  const Tensor x = noise({2, 3, 5, 7});
  for (const int64_t axis : {1, 2, 3, -1, -2, -3}) {
    const int64_t own = axis < 0 ? axis + 4 : axis;
    const Tensor y = infer(Softmax({.axis = axis}), x);
    // Computed with the axis transposed to the end.
    std::vector<int> order{0, 1, 2, 3};
    std::swap(order[static_cast<size_t>(own)], order[3]);
    EXPECT_EQ(values(y.transposed(order)),
              values(infer(Softmax(), x.transposed(order))));
  }
}

TEST(Softmax, IsAnActivationOnlyAlongTheLastAxis) {
  EXPECT_EQ(Softmax()->facts().activation, "softmax");
  const Softmax first({.axis = 1});
  (void)first(input({5}));
  EXPECT_EQ(first->facts().activation, "softmax");
  EXPECT_THROW(first(input({4, 5})), ShapeError);
  const Softmax rows({.axis = 1});
  (void)rows(input({4, 5}));
  EXPECT_EQ(rows->facts().activation, "");
  EXPECT_NO_THROW((void)rows(input({4, 5, 6})));
}

TEST(Softmax, RejectsTheBatchAxis) {
  for (const int64_t axis : {0, -3, 3, -4}) {
    EXPECT_THROW(Softmax({.axis = axis})(input({4, 5})), ShapeError);
  }
}

TEST(Softmax, TreatsSamplesIndependently) {
  // A batch of scalar samples has no last axis besides the batch.
  const SymbolicTensor x = input({});
  EXPECT_THROW(Softmax()(x), ShapeError);
}

TEST(Softmax, RoundTripsThroughItsConfiguration) {
  const Config config = Softmax()->config();
  EXPECT_EQ(create_layer("Softmax", config)->config(), config);
}

}  // namespace
}  // namespace octet
