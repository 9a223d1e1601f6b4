// Trainable scales, against the definition of their gradient in double
// precision.
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "../support.h"

namespace octet {
namespace {

/// d(scale * q)/d(scale) at x.
double slope(double x, double scale, int low, int high) {
  const double steps = x / scale;
  if (steps <= low) return low;
  if (steps >= high) return high;
  return std::nearbyint(steps) - steps;
}

/// Sums of g * slope, per channel of `axis`, or in total for axis -1.
std::vector<double> scale_gradients(const Tensor& x, const Tensor& g,
                                    std::span<const float> scales, int axis,
                                    int low, int high) {
  std::vector<double> sums(scales.size());
  const Shape& shape = x.shape();
  const int64_t inner =
      axis < 0 ? 1 : shape.slice(axis + 1, shape.rank()).size();
  for (int64_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    const size_t c =
        axis < 0 ? 0 : static_cast<size_t>(i / inner) % scales.size();
    sums[c] += double{g.f32()[at]} * slope(x.f32()[at], scales[c], low, high);
  }
  return sums;
}

Tensor wide(const Shape& shape, uint64_t seed) {
  Tensor x(shape);
  Rng(seed).fill_normal(x, 0, 3);
  return x;
}

/// Distinct gradients: the loss is the dot product of y with these.
Variable loss_of(const Variable& y, const Tensor& factors) {
  return sum(y * Variable(factors));
}

TEST(LearnedScale, MatchesTheDefinitionPerTensor) {
  for (const Shape& shape : {Shape{2, 3, 5, 7}, Shape{1, 4, 3, 1}, Shape{6, 9},
                             Shape{11}, Shape{2, 5, 3}}) {
    const Tensor x = wide(shape, 1);
    const Tensor g = noise(shape, 2);
    for (const auto& [low, high] : {std::pair(-8, 7), std::pair(0, 15)}) {
      const Variable scale(Tensor::scalar(0.41f), true);
      const Variable in(x.clone(), true);
      loss_of(fake_quantize(in, {.scale = scale, .gradient_factor = 0.5f},
                            {.low = low, .high = high}),
              g)
          .backward();
      const auto expected =
          scale_gradients(x, g, scale.value().f32(), -1, low, high);
      EXPECT_NEAR(scale.grad().item(), 0.5 * expected[0],
                  1e-4 * (1 + std::fabs(expected[0])));
      // The gradient of x is that of a fixed scale.
      const Variable other(x.clone(), true);
      loss_of(fake_quantize(
                  other,
                  {.scale = Tensor::scalar(0.41f), .low = low, .high = high}),
              g)
          .backward();
      EXPECT_EQ(bits(in.grad()), bits(other.grad()));
    }
  }
}

TEST(LearnedScale, MatchesTheDefinitionPerChannel) {
  const Shape shape{3, 2, 5, 4};
  const Tensor x = wide(shape, 3);
  const Tensor g = noise(shape, 4);
  for (const int axis : {3, 2, 0}) {
    std::vector<float> scales;
    for (int64_t c = 0; c < shape[axis]; ++c) {
      scales.push_back(0.2f + 0.3f * static_cast<float>(c));
    }
    const Variable scale(
        Tensor::of({shape[axis]}, std::span<const float>(scales)), true);
    loss_of(fake_quantize(Variable(x), {.scale = scale},
                          {.axis = axis, .low = -7, .high = 7}),
            g)
        .backward();
    const auto expected = scale_gradients(x, g, scales, axis, -7, 7);
    for (size_t c = 0; c < scales.size(); ++c) {
      EXPECT_NEAR(scale.grad().f32()[c], expected[c], 1e-3) << c;
    }
  }
}

// Deferred affine, clip and addition before quantization, and convolutions,
// pools and additions after it, against eager evaluation.
TEST(LearnedScale, MatchesEagerEvaluationAroundDeferredOps) {
  struct Gradients {
    std::vector<float> x, scale, other, weight, channels;
  };
  const auto run = [] {
    const Variable x(wide({2, 6, 5, 3}, 5), true);
    const Variable scale(Tensor::scalar(0.3f), true);
    const Variable other(Tensor::scalar(0.6f), true);
    const Variable weight(noise({3, 3, 3, 4}, 6), true);
    const Variable channels(Tensor::of<float>({4}, {0.1f, 0.2f, 0.3f, 0.4f}),
                            true);
    const Variable a = relu(scale_shift(x, 1.5f, 0.2f));
    const Variable q =
        fake_quantize(a, {.scale = scale}, {.low = 0, .high = 15});
    const Variable r =
        fake_quantize(add(x, q), {.scale = other}, {.low = -8, .high = 7});
    const Variable w = fake_quantize(weight, {.scale = channels},
                                     {.axis = -1, .low = -7, .high = 7});
    const Variable y = add(conv2d(r, w), conv2d(q, w));
    loss_of(y, noise(y.shape(), 7)).backward();
    return Gradients{values(x.grad()), values(scale.grad()),
                     values(other.grad()), values(weight.grad()),
                     values(channels.grad())};
  };
  const Gradients deferred = run();
  const EagerGuard eager;
  const Gradients plain = run();
  const auto near = [](const std::vector<float>& a,
                       const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i], b[i], 2e-4f * (1 + std::fabs(b[i])));
    }
  };
  near(deferred.x, plain.x);
  near(deferred.scale, plain.scale);
  near(deferred.other, plain.other);
  near(deferred.weight, plain.weight);
  near(deferred.channels, plain.channels);
}

// The input of a network needs no gradient except that of its scale, which is
// then computed without the gradient of the input.
TEST(LearnedScale, MatchesEagerEvaluationForInputsOfANetwork) {
  const std::vector<std::pair<Shape, std::function<Variable(const Variable&)>>>
      networks{
          {{2, 6, 5, 3},
           [&](const Variable& q) {
             return conv2d(q, Variable(noise({3, 3, 3, 4}, 6), true),
                           {.strides = 2, .pads = Pads(1, 1, 1, 1)});
           }},
          {{3, 4, 7, 17},
           [&](const Variable& q) {
             return depthwise_conv2d(q,
                                     Variable(noise({3, 3, 17, 1}, 6), true));
           }},
          {{5, 13},
           [&](const Variable& q) {
             return matmul(relu(dense(q, Variable(noise({13, 6}, 6), true))),
                           Variable(noise({6, 3}, 7), true));
           }},
          {{2, 9, 1},
           [&](const Variable& q) {
             return conv1d(q, Variable(noise({4, 1, 5}, 6), true));
           }},
      };
  for (const auto& [shape, network] : networks) {
    for (const int low : {-8, 0}) {
      for (const ScaleSlope slope : {ScaleSlope::rounding, ScaleSlope::none}) {
        const auto gradient = [&] {
          const Variable scale(Tensor::scalar(0.3f), true);
          const Variable q = fake_quantize(Variable(wide(shape, 5)),
                                           {.scale = scale, .slope = slope},
                                           {.low = low, .high = low + 15});
          const Variable y = network(q);
          loss_of(y, noise(y.shape(), 7)).backward();
          return scale.grad().item();
        };
        const float deferred = gradient();
        const EagerGuard eager;
        const float plain = gradient();
        EXPECT_NEAR(deferred, plain, 2e-4f * (1 + std::fabs(plain)));
      }
    }
  }
}

TEST(LearnedScale, MatchesAFixedScaleBitwise) {
  const Tensor x = wide({2, 5, 4, 3}, 8);
  const Variable scale(Tensor::scalar(0.3f), true);
  EXPECT_EQ(
      bits(
          fake_quantize(Variable(x), {.scale = scale}, {.low = -8, .high = 7})),
      bits(fake_quantize(
          Variable(x), {.scale = Tensor::scalar(0.3f), .low = -8, .high = 7})));
}

TEST(LearnedScale, HasBitIdenticalGradientsForAnyNumberOfThreads) {
  const ThreadCountGuard restored;
  const auto run = [](int threads) {
    set_num_threads(threads);
    const Variable scale(Tensor::scalar(0.3f), true);
    const Tensor x = wide({37, 5, 4, 3}, 9);
    loss_of(fake_quantize(Variable(x), {.scale = scale}, {}),
            noise(x.shape(), 10))
        .backward();
    return scale.grad().item();
  };
  EXPECT_EQ(run(3), run(1));
}

TEST(LearnedScale, HasBitIdenticalGradientsOnEveryInstructionSet) {
  const Isa before = active_isa();
  std::vector<std::vector<uint32_t>> one, each;
  for (const Isa isa : supported_isas()) {
    set_active_isa(isa);
    const Tensor x = noise({3, 7, 5, 19});  // tails of every width
    const Variable scale(Tensor::scalar(0.3f), true);
    sum(fake_quantize(Variable(x), {.scale = scale}, {.low = -8, .high = 7}) *
        Variable(noise({3, 7, 5, 19}, 2)))
        .backward();
    one.push_back(bits(scale.grad()));
    const Variable scales(Tensor::full({19}, 0.25f), true);
    sum(fake_quantize(Variable(x), {.scale = scales},
                      {.axis = -1, .low = -8, .high = 7}) *
        Variable(noise({3, 7, 5, 19}, 2)))
        .backward();
    each.push_back(bits(scales.grad()));
  }
  set_active_isa(before);
  EXPECT_THAT(one, testing::Each(one[0]));
  EXPECT_THAT(each, testing::Each(each[0]));
}

TEST(LearnedScale, SumsGradientsOfAllConsumers) {
  const Tensor x = wide({2, 3}, 11);
  const auto gradient = [&](int uses) {
    const Variable scale(Tensor::scalar(0.3f), true);
    Variable total;
    for (int i = 0; i < uses; ++i) {
      const Variable y = sum(
          fake_quantize(Variable(x), {.scale = scale}, {.low = -8, .high = 7}));
      total = total ? add(total, y) : y;
    }
    total.backward();
    return scale.grad().item();
  };
  EXPECT_FLOAT_EQ(gradient(2), 2 * gradient(1));
}

TEST(LearnedScale, RejectsInvalidScales) {
  const Variable x(noise({2, 3}));
  const auto error = [&](const LearnedScale& scale,
                         const QuantParams& qparams) {
    return failure_of<ValueError>(
        [&] { (void)fake_quantize(x, scale, qparams); });
  };
  EXPECT_EQ(error({.scale = Variable(Tensor::scalar(-1), true)}, {}),
            (Failure{"out_of_range", "fake_quantize"}));
  EXPECT_EQ(error({.scale = Variable(Tensor::scalar(1), true)},
                  {.scale = Tensor::scalar(1)}),
            (Failure{"conflicting_options", "fake_quantize"}));
  EXPECT_EQ(error({.scale = Variable(Tensor::scalar(1), true),
                   .gradient_factor = std::numeric_limits<float>::quiet_NaN()},
                  {}),
            (Failure{"not_finite", "fake_quantize"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)fake_quantize(
                  x, {.scale = Variable(Tensor::full({2}, 1), true)},
                  {.axis = -1});
            }),
            (Failure{"count_mismatch", "quantization parameters"}));
}

}  // namespace
}  // namespace octet
