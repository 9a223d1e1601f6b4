// Errors of ops, and corner cases that random shapes do not reach.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>

#include "../support.h"

namespace octet {
namespace {

Tensor noise(const Shape& shape, float mean = 0, float deviation = 1) {
  Rng rng(11);
  Tensor t(shape);
  rng.fill_normal(t, mean, deviation);
  return t;
}

TEST(MaxPool2d, StaysInsideTheImageForMinusInfinity) {
  const float lowest = -std::numeric_limits<float>::infinity();
  const Variable x(Tensor::full({1, 2, 2, 17}, lowest), true);
  const Variable y = max_pool2d(x, {2, 2}, {.strides{2, 2}, .pads{1, 1, 1, 1}});
  sum(y).backward();
  EXPECT_EQ(y.shape(), (Shape{1, 2, 2, 17}));
  for (const float v : y.value().f32()) EXPECT_EQ(v, lowest);
  for (const float g : x.grad().f32()) EXPECT_EQ(g, 1);
}

TEST(Linear, AcceptsNoSamples) {
  for (const int64_t units : {3, 100}) {  // a single panel, and several
    const Variable x(Tensor({0, 5}));
    EXPECT_EQ(dense(x, Variable(Tensor::full({5, units}, 1))).value().shape(),
              Shape({0, units}));
    const Variable images(Tensor({0, 4, 3, 5}));
    const Variable w(Tensor::full({1, 1, 5, units}, 1));
    EXPECT_EQ(conv2d(images, w).value().shape(), Shape({0, 4, 3, units}));
  }
}

TEST(MaxPool2d, PropagatesNan) {
  Tensor t = noise({1, 2, 2, 1});
  t.f32()[1] = NAN;
  const Variable y = max_pool2d(Variable(t), {2, 2}, {});
  EXPECT_TRUE(std::isnan(y.value().f32()[0]));
}

TEST(MaxPool2d, PassesTheGradientToTheFirstOfEqualValues) {
  const Variable x(Tensor::full({1, 2, 2, 1}, 3), true);
  sum(max_pool2d(x, {2, 2}, {})).backward();
  EXPECT_EQ(x.grad().f32()[0], 1);
  EXPECT_EQ(x.grad().f32()[3], 0);
}

TEST(Windows, RejectInvalidOptions) {
  const Variable x(noise({1, 4, 4, 2}));
  const Variable w(noise({3, 3, 2, 2}));
  const WindowOptions no_stride{.strides{0, 1}};
  const WindowOptions no_pads{.pads{-1, 0, 0, 0}};
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)max_pool2d(x, {2, 2}, no_stride);
            }),
            (Failure{"out_of_range", "window"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)max_pool2d(x, {2, 2}, no_pads);
            }),
            (Failure{"out_of_range", "max_pool2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)max_pool2d(x, {0, 2}, {});
            }),
            (Failure{"out_of_range", "max_pool2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)max_pool2d(x, {5, 2}, {});
            }),
            (Failure{"invalid_shape", "max_pool2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)max_pool2d(x, {2, 2}, {.pads{2, 0, 0, 0}});
            }),
            (Failure{"out_of_range", "max_pool2d"}));
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)max_pool2d(x, {17, 17}, {});
            }),
            (Failure{"size_limit", "max_pool2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)conv2d(x, w, no_stride); }),
            (Failure{"out_of_range", "conv2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)conv2d(x, w, no_pads); }),
            (Failure{"out_of_range", "conv2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)conv2d(x, w, {.dilation{0, 1}});
            }),
            (Failure{"out_of_range", "conv2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)conv2d(x, w, {.dilation{2, 2}});
            }),
            (Failure{"invalid_shape", "conv2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)conv2d(x, Variable(noise({3, 3, 3, 2})));
            }),
            (Failure{"shape_mismatch", "conv2d"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)window_positions(4, 2, 0, 1, 0); }),
      (Failure{"out_of_range", "window"}));
}

TEST(Conv2d, AcceptsAnEmptyBatch) {
  const Variable x(Tensor::zeros({0, 4, 4, 2}), true);
  const Variable w(noise({3, 3, 2, 2}), true);
  sum(conv2d(x, w)).backward();
  for (const float g : w.grad().f32()) EXPECT_EQ(g, 0);
}

TEST(BatchNorm, ResolvesASmallVarianceBesideALargeMean) {
  for (const float mean : {0.0f, 30.0f, 300.0f, 3000.0f}) {
    // A 1x1 convolution by 1 passes on its sums.
    const Variable x(noise({4, 28, 28, 1}, mean, 0.58f));
    const Variable one(Tensor::full({1, 1, 1, 1}, 1), true);
    double expected_mean = 0;
    double expected = 0;
    for (const float v : x.value().f32()) expected_mean += v / 3136.0;
    for (const float v : x.value().f32()) {
      expected += std::pow(v - expected_mean, 2) / 3136;
    }
    Tensor moving_mean = Tensor::zeros({1});
    Tensor variance = Tensor::zeros({1});
    (void)batch_norm_training(conv2d(x, one), {}, {}, moving_mean.f32(),
                              variance.f32(), 0.0f, 1e-3f);
    EXPECT_NEAR(variance.f32()[0], expected, 1e-3 * expected) << mean;
    EXPECT_NEAR(moving_mean.f32()[0], expected_mean, 1e-5 * mean + 1e-5);
  }
}

// Only those channels get a second pass.
TEST(BatchNorm, ResolvesSmallVariancesPerChannel) {
  const std::vector<float> means{3000, 0, -300, 1};
  Tensor t = noise({3, 17, 5, 4}, 0, 0.58f);
  for (size_t i = 0; i < t.f32().size(); ++i) t.f32()[i] += means[i % 4];
  Tensor unit = Tensor::zeros({1, 1, 4, 4});
  for (size_t k = 0; k < 4; ++k) unit.f32()[5 * k] = 1;
  Tensor mean = Tensor::zeros({4}), variance = Tensor::zeros({4});
  (void)batch_norm_training(conv2d(Variable(t), Variable(unit, true)), {}, {},
                            mean.f32(), variance.f32(), 0.0f, 1e-3f);
  for (size_t k = 0; k < 4; ++k) {
    double sum = 0, squares = 0;
    for (size_t i = k; i < t.f32().size(); i += 4) sum += t.f32()[i];
    const double center = sum / 255;
    for (size_t i = k; i < t.f32().size(); i += 4) {
      squares += std::pow(t.f32()[i] - center, 2);
    }
    EXPECT_NEAR(mean.f32()[k], center, 1e-6 * std::fabs(center) + 1e-5) << k;
    EXPECT_NEAR(variance.f32()[k], squares / 255, 1e-3 * squares / 255) << k;
  }
}

TEST(BatchNorm, ShiftsItsMeanByThePrecedingBias) {
  const Variable x(noise({2, 3, 4, 5}));
  const Variable w(noise({1, 1, 5, 3}), true);
  const Variable bias(Tensor::of<float>({3}, {10, -20, 0.5f}), true);
  const auto moments = [&](const Variable& y) {
    Tensor mean = Tensor::zeros({3});
    Tensor variance = Tensor::zeros({3});
    (void)batch_norm_training(y, {}, {}, mean.f32(), variance.f32(), 0, 1e-3f);
    return std::pair{mean, variance};
  };
  const auto [mean, variance] = moments(bias_add(conv2d(x, w), bias));
  const auto [plain, same] = moments(conv2d(x, w));
  for (size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(mean.f32()[k], plain.f32()[k] + bias.value().f32()[k], 1e-5);
    EXPECT_EQ(variance.f32()[k], same.f32()[k]);
  }
}

TEST(BatchNorm, IgnoresNonFiniteBatchesInStatistics) {
  Tensor t = noise({4, 2});
  t.f32()[0] = NAN;
  Tensor mean = Tensor::full({2}, 5);
  Tensor variance = Tensor::full({2}, 7);
  const Variable y = batch_norm_training(Variable(t), {}, {}, mean.f32(),
                                         variance.f32(), 0.5f, 1e-3f);
  EXPECT_TRUE(std::isnan(y.value().f32()[2]));
  EXPECT_EQ(mean.f32()[0], 5);
  EXPECT_EQ(variance.f32()[0], 7);
  EXPECT_NE(mean.f32()[1], 5);
}

TEST(BatchNorm, RejectsInvalidArguments) {
  const Variable x(noise({4, 2}));
  Tensor mean = Tensor::zeros({2});
  Tensor variance = Tensor::full({2}, 1);
  Tensor negative = Tensor::full({2}, -1);
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)batch_norm(x, {}, {}, mean, negative, 1e-3f); }),
            (Failure{"out_of_range", "batch_norm"}));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)batch_norm(x, {}, {}, mean, variance, 0); }),
            (Failure{"out_of_range", "batch_norm"}));
  EXPECT_EQ(failure_of<ShapeError>(
                [&] { (void)batch_norm(x, {}, {}, Tensor({3}), variance, 1); }),
            (Failure{"shape_mismatch", "batch_norm"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)batch_norm_training(x, {}, {}, mean.f32(), variance.f32(),
                                        5, 1e-3f);
            }),
            (Failure{"out_of_range", "batch_norm"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)batch_norm_training(Variable(Tensor({0, 2})), {}, {},
                                        mean.f32(), variance.f32(), 0.9f,
                                        1e-3f);
            }),
            (Failure{"invalid_shape", "batch_norm"}));
}

TEST(Weights, AreRepackedForAnotherScale) {
  const Variable x(Tensor::full({1, 2}, 1));
  const Variable w(Tensor::of<float>({2, 1}, {5, -100}));
  const NoGradGuard no_grad;
  const auto run = [&](int low, int high) {
    const QuantParams qparams{
        .scale = Tensor::full({1}, 1), .axis = -1, .low = low, .high = high};
    const QuantParams input{.scale = Tensor::scalar(1)};
    return dense(fake_quantize(x, input), fake_quantize(w, qparams))
        .value()
        .item();
  };
  EXPECT_EQ(run(-127, 127), -95);
  EXPECT_EQ(run(-8, 7), -3);
  EXPECT_EQ(run(-127, 127), -95);
}

TEST(FakeQuantize, CopiesItsScaleWhenCalled) {
  QuantParams qparams{.scale = Tensor::scalar(0.1f)};
  const Variable y =
      fake_quantize(Variable(Tensor::full({1, 1}, 0.3f)), qparams);
  qparams.scale.f32()[0] = 0.25f;
  EXPECT_EQ(y.value().item(), 3 * 0.1f);
}

// Dequantized values are rounded before the addition, like outputs of ONNX
// DequantizeLinear.
TEST(Add, RoundsDequantizedTerms) {
  const Tensor a = noise({2, 3, 4, 17});
  const Tensor b = noise({2, 3, 4, 17}, 1);
  const QuantParams qparams{.scale = Tensor::scalar(0.0137f)};
  const Variable y = add(Variable(a), fake_quantize(Variable(b), qparams));
  const Tensor rounded = dequantize(quantize(b, qparams), qparams);
  for (size_t i = 0; i < a.f32().size(); ++i) {
    const volatile float term = rounded.f32()[i];
    EXPECT_EQ(y.value().f32()[i], std::as_const(a).f32()[i] + term);
  }
}

TEST(ReleasedTape, IsRejectedByEveryOp) {
  const Variable x(noise({3, 4}));
  const Variable w(noise({4, 5}), true);
  const auto used = [&] {
    const Variable h = relu(dense(x, w));
    sum(h).backward();
    return h;
  };
  const Variable v(noise({5, 2}), true);
  EXPECT_EQ(failure_of<ValueError>([&] { sum(dense(used(), v)).backward(); }),
            (Failure{"invalid_state", "backward"}));
  EXPECT_EQ(failure_of<ValueError>([&] { sum(relu(used())).backward(); }),
            (Failure{"invalid_state", "backward"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { sum(add(used(), used())).backward(); }),
      (Failure{"invalid_state", "backward"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] {
        sum(fake_quantize(used(), {.scale = Tensor::scalar(1)})).backward();
      }),
      (Failure{"invalid_state", "backward"}));
  EXPECT_NO_THROW(sum(dense(used().detach(), v)).backward());
}

}  // namespace
}  // namespace octet
