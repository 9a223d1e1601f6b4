// Trainable offsets of asymmetric ranges (LSQ+), against finite differences of
// the straight-through surrogate in double precision.
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>

#include "../support.h"

namespace octet {
namespace {

struct AffineRange {
  double scale, offset;
  int last;  ///< largest of last + 1 quantized values
};

// The quantized value of x with a rounding error that scale and offset do not
// change. Source: Bhalgat et al., arXiv 2004.09576, equations 1 and 2.
double surrogate(double x, const AffineRange& at, const AffineRange& moved) {
  const double steps = (x - at.offset) / at.scale;
  const double error = std::nearbyint(steps) - steps;
  const double q = (x - moved.offset) / moved.scale;
  if (steps < 0) return moved.offset;
  if (steps > at.last) return moved.scale * at.last + moved.offset;
  return moved.scale * (q + error) + moved.offset;
}

double surrogate_loss(const Tensor& x, const Tensor& g, const AffineRange& at,
                      const AffineRange& moved) {
  double sum = 0;
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    sum += double{g.f32()[i]} * surrogate(double{x.f32()[i]}, at, moved);
  }
  return sum;
}

struct AffineGradients {
  Tensor y, x, scale, offset;
};

AffineGradients gradients_of(const Tensor& x, const Tensor& g, float scale,
                             int zero, int last, float factor) {
  const Variable in(x.clone(), true);
  const Variable s(Tensor::scalar(scale), true);
  const Variable o(Tensor::scalar(-static_cast<float>(zero) * scale), true);
  const Variable y =
      fake_quantize(in, {.scale = s, .gradient_factor = factor, .offset = o},
                    {.low = -zero, .high = last - zero});
  sum(y * Variable(g)).backward();
  return {y.value(), in.grad(), s.grad(), o.grad()};
}

TEST(LearnedOffset, EqualsFiniteDifferences) {
  const Shape shape{5, 7, 3};
  Tensor x(shape);
  Rng(1).fill_normal(x, 0.3f, 2);
  const Tensor g = noise(shape, 2);
  for (const auto& [zero, last] :
       {std::pair(0, 15), std::pair(4, 15), std::pair(113, 255),
        std::pair(255, 255), std::pair(1, 3)}) {
    const float scale = 4.0f / static_cast<float>(last);
    const AffineRange at{double{scale}, -zero * double{scale}, last};
    const AffineGradients got = gradients_of(x, g, scale, zero, last, 0.5f);
    constexpr double kStep = 1e-5;
    const auto slope = [&](double by_scale, double by_offset) {
      const auto loss = [&](double t) {
        return surrogate_loss(
            x, g, at,
            {at.scale + t * by_scale, at.offset + t * by_offset, last});
      };
      return (loss(kStep) - loss(-kStep)) / (2 * kStep);
    };
    const double of_scale = slope(1, 0), of_offset = slope(0, 1);
    EXPECT_NEAR(got.scale.item(), 0.5 * of_scale,
                1e-3 * (1 + std::fabs(of_scale)))
        << zero << " of " << last;
    EXPECT_NEAR(got.offset.item(), 0.5 * of_offset,
                1e-3 * (1 + std::fabs(of_offset)))
        << zero << " of " << last;
  }
}

// Values and the gradient of x are those of a fixed scale.
TEST(LearnedOffset, DoesNotChangeValues) {
  const Shape shape{4, 9};
  Tensor x(shape);
  Rng(3).fill_normal(x, 0, 2);
  const Tensor g = noise(shape, 4);
  const AffineGradients got = gradients_of(x, g, 0.021f, 90, 255, 1);
  const Variable in(x.clone(), true);
  const Variable y = fake_quantize(
      in, {.scale = Tensor::scalar(0.021f), .low = -90, .high = 165});
  sum(y * Variable(g)).backward();
  EXPECT_EQ(bits(got.y), bits(y.value()));
  EXPECT_EQ(bits(got.x), bits(in.grad()));
}

// Zeros of a ReLU are representable under every offset.
TEST(LearnedOffset, GetsNoGradientFromZerosAtTheBound) {
  const AffineGradients got =
      gradients_of(Tensor::zeros({8}), Tensor::full({8}, 1), 0.1f, 0, 255, 1);
  EXPECT_EQ(got.offset.item(), 0);
  EXPECT_EQ(got.scale.item(), 0);
}

TEST(LearnedOffset, RejectsOtherFormsOfScales) {
  const Variable x(noise({2, 3}));
  const Variable one(Tensor::scalar(1), true);
  const Failure conflict{"conflicting_options", "fake_quantize"};
  for (const LearnedScale& scale :
       {LearnedScale{.scale = one, .log2 = true, .offset = one},
        LearnedScale{.scale = one, .slope = ScaleSlope::none, .offset = one}}) {
    EXPECT_EQ(
        failure_of<ValueError>([&] { (void)fake_quantize(x, scale, {}); }),
        conflict);
  }
}

}  // namespace
}  // namespace octet
