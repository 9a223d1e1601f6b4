#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "../support.h"

namespace octet {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor softmax_of(const Tensor& x, int axis = -1) {
  return softmax(Variable(x), axis).value();
}

TEST(Softmax, IsAccurateTo3e7OnEveryInstructionSet) {
  const Isa before = active_isa();
  for (const Isa isa : supported_isas()) {
    set_active_isa(isa);
    for (const float spread : {0.01f, 1.0f, 20.0f}) {
      Rng rng(3);
      Tensor x({50, 67});
      rng.fill_normal(x, 100, spread);
      const Tensor y = softmax_of(x);
      for (size_t row = 0; row < 50; ++row) {
        const auto from = std::as_const(x).f32().subspan(row * 67, 67);
        const auto to = y.f32().subspan(row * 67, 67);
        double sum = 0;
        for (const float v : from) sum += std::exp(double{v} - 100);
        for (size_t i = 0; i < from.size(); ++i) {
          const double exact = std::exp(double{from[i]} - 100) / sum;
          // Subnormal numbers have fewer bits.
          EXPECT_NEAR(to[i], exact, 3e-7 * exact + 1.5e-45);
        }
      }
    }
  }
  set_active_isa(before);
}

// With fused multiply-adds; the baseline rounds more often.
TEST(Softmax, HasTheSameBitsForEveryVectorWidth) {
  const Isa before = active_isa();
  for (int64_t n = 1; n < 70; ++n) {
    SCOPED_TRACE(n);
    const Tensor x = noise({7, n}, 5);
    std::vector<uint32_t> first;
    for (const Isa isa : supported_isas()) {
      if (isa == Isa::baseline) continue;
      set_active_isa(isa);
      const auto y = bits(softmax_of(x));
      if (first.empty()) first = y;
      EXPECT_EQ(y, first) << to_string(isa);
      // A gathered axis.
      EXPECT_EQ(bits(softmax_of(x.transposed({1, 0}), 0).transposed({1, 0})),
                first);
    }
  }
  set_active_isa(before);
}

TEST(Softmax, ReachesZeroThroughTheSubnormalNumbers) {
  Tensor x({1, 3});
  x.f32()[0] = 0;
  x.f32()[1] = -95;
  x.f32()[2] = -120;
  const Tensor y = softmax_of(x);
  EXPECT_EQ(y.f32()[0], 1);
  EXPECT_NEAR(y.f32()[1], std::exp(-95.0), 1.5e-45);
  EXPECT_EQ(y.f32()[2], 0);
}

TEST(Softmax, AcceptsHugeValuesAndMinusInfinity) {
  const Tensor y = softmax_of(Tensor::of<float>(
      {3, 3}, {3e38f, -3e38f, 3e38f, -kInf, 2, 2, -kInf, -kInf, -5}));
  const std::vector<float> expected{0.5f, 0, 0.5f, 0, 0.5f, 0.5f, 0, 0, 1};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(y.f32()[i], expected[i]) << i;
  }
}

TEST(Softmax, IsNanForSlicesWithNanOrInfinityOrOnlyMinusInfinity) {
  for (const std::vector<float>& line : {std::vector<float>{NAN, 1, 2},
                                         {1, 2, NAN},
                                         {NAN, NAN, NAN},
                                         {1, kInf, 2},
                                         {-kInf, -kInf, -kInf}}) {
    Tensor x = Tensor::zeros({2, 3, 2});
    for (size_t k = 0; k < 3; ++k) x.f32()[2 * k] = line[k];
    const Tensor y = softmax_of(x, 1);
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_TRUE(std::isnan(y.f32()[2 * k]));
      EXPECT_NEAR(y.f32()[2 * k + 1], 1.0 / 3, 1e-7);  // the adjacent line
    }
  }
}

TEST(Softmax, SupportsAnyAxis) {
  // Equal values along the axis give 1 / length.
  const Shape shape{2, 3, 5};
  for (int axis = -3; axis < 3; ++axis) {
    const Tensor y = softmax_of(Tensor::full(shape, 7), axis);
    const double exact = 1.0 / static_cast<double>(shape[axis]);
    for (const float v : y.f32()) EXPECT_NEAR(v, exact, 1e-7);
  }
}

TEST(Softmax, AcceptsAnEmptyBatch) {
  EXPECT_EQ(softmax_of(Tensor::zeros({0, 3})).shape(), (Shape{0, 3}));
}

TEST(Softmax, RejectsInvalidAndEmptyAxes) {
  const Variable x(Tensor::zeros({2, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)softmax(x, 2); }),
            (Failure{"out_of_range", "softmax"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)softmax(x, -3); }),
            (Failure{"out_of_range", "softmax"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)softmax(Variable(Tensor::zeros({2, 0})));
            }),
            (Failure{"out_of_range", "softmax"}));
  EXPECT_EQ(failure_of<ShapeError>(
                [&] { (void)softmax(Variable(Tensor::scalar(1))); }),
            (Failure{"out_of_range", "softmax"}));
}

}  // namespace
}  // namespace octet
