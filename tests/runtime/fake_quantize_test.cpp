// fake_quantize against its definition: forward quantization, backward the
// straight-through estimator.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/system.h>

#include "../support.h"
#include "every_isa.h"

namespace octet {
namespace {

class FakeQuantize : public EveryIsa {};

Tensor ties_and_bounds() {
  std::vector<float> values;
  for (int i = -300; i <= 300; ++i) {
    values.push_back(static_cast<float>(i) * 0.5f);
    values.push_back(std::nextafter(values.back(), 1e9f));
  }
  return Tensor::of<float>({1, 1, static_cast<int64_t>(values.size()) / 2, 2},
                           values);
}

TEST_P(FakeQuantize, MatchesTheScalarDefinition) {
  Rng rng(1);
  Tensor x({3, 5, 7, 17});
  rng.fill_normal(x, 0, 60);
  for (const Tensor& t : {x, ties_and_bounds()}) {
    for (const float scale : {1.0f, 0.37f, 1e-3f}) {
      const QuantParams qparams{.scale = Tensor::scalar(scale)};
      const Variable y = fake_quantize(Variable(t), qparams);
      for (size_t i = 0; i < t.f32().size(); ++i) {
        EXPECT_EQ(y.value().f32()[i],
                  quantize(t.f32()[i], scale, -128, 127) * scale);
      }
    }
  }
}

TEST_P(FakeQuantize, PropagatesNan) {
  const Variable x(Tensor::full({1, 1, 1, 40}, NAN));
  const Variable y = fake_quantize(x, {.scale = Tensor::scalar(1)});
  for (const float v : y.value().f32()) EXPECT_TRUE(std::isnan(v));
}

TEST_P(FakeQuantize, PassesGradientsWithinTheRange) {
  const Variable x(ties_and_bounds(), true);
  sum(fake_quantize(x, {.scale = Tensor::scalar(1)})).backward();
  for (size_t i = 0; i < x.value().f32().size(); ++i) {
    const float code = std::nearbyint(x.value().f32()[i]);
    EXPECT_EQ(x.grad().f32()[i], code >= -128 && code <= 127 ? 1 : 0)
        << x.value().f32()[i];
  }
}

TEST_P(FakeQuantize, PassesAllGradientsInPassThroughMode) {
  const Variable x(ties_and_bounds(), true);
  sum(fake_quantize(x, {.scale = Tensor::scalar(0.01f)},
                    StraightThrough::pass_through))
      .backward();
  for (const float g : x.grad().f32()) EXPECT_EQ(g, 1);
}

TEST_P(FakeQuantize, QuantizesEachChannelWithItsScale) {
  Rng rng(2);
  Tensor t({3, 2, 4, 5});
  rng.fill_normal(t, 0, 2);
  for (const int axis : {-1, 2, 0}) {
    const Tensor scale = absmax_per_channel(t, axis).clone();
    Tensor scales = scale.clone();
    for (float& s : scales.f32()) s = scale_of_range(s * 0.9f, 127);
    const QuantParams qparams{.scale = scales, .axis = axis, .low = -127};
    const Variable x(t.clone(), true);
    const Variable y = fake_quantize(x, qparams);
    const Tensor expected = dequantize(quantize(t, qparams), qparams);
    sum(y).backward();
    bool clipped = false;
    for (size_t i = 0; i < t.f32().size(); ++i) {
      EXPECT_EQ(y.value().f32()[i], expected.f32()[i]);
      clipped |= x.grad().f32()[i] == 0;
    }
    EXPECT_TRUE(clipped) << "the test has no value outside its range";
  }
}

// As on the device: sums of INT8 products, scaled once.
TEST_P(FakeQuantize, MakesConvolutionMultiplyIntegers) {
  Rng rng(3);
  for (const int64_t c : {int64_t{1}, int64_t{3}, int64_t{17}}) {
    Tensor x({2, 5, 4, c});
    Tensor w({3, 3, c, 19});
    rng.fill_normal(x, 0, 1);
    rng.fill_normal(w, 0, 1);
    const QuantParams xg{.scale = Tensor::scalar(absmax(x) / 127)};
    Tensor ws = absmax_per_channel(w, -1);
    for (float& s : ws.f32()) s /= 127;
    const QuantParams wg{.scale = ws, .axis = -1, .low = -127};
    const Variable y =
        conv2d(fake_quantize(Variable(x), xg), fake_quantize(Variable(w), wg));
    const Tensor xq = quantize(x, xg);
    const Tensor wq = quantize(w, wg);
    ASSERT_EQ(y.shape(), (Shape{2, 3, 2, 19}));
    for (int64_t n = 0; n < 2; ++n)
      for (int64_t i = 0; i < 3; ++i)
        for (int64_t j = 0; j < 2; ++j)
          for (int64_t k = 0; k < 19; ++k) {
            int32_t sum = 0;
            for (int64_t p = 0; p < 3; ++p)
              for (int64_t q = 0; q < 3; ++q)
                for (int64_t d = 0; d < c; ++d) {
                  const int64_t xi = ((n * 5 + i + p) * 4 + j + q) * c + d;
                  const int64_t wi = ((p * 3 + q) * c + d) * 19 + k;
                  sum += xq.data<int8_t>()[static_cast<size_t>(xi)] *
                         wq.data<int8_t>()[static_cast<size_t>(wi)];
                }
            const float rescale =
                ws.f32()[static_cast<size_t>(k)] * xg.scale.item();
            const int64_t at = ((n * 3 + i) * 2 + j) * 19 + k;
            EXPECT_EQ(y.value().f32()[static_cast<size_t>(at)],
                      static_cast<float>(sum) * rescale);
          }
  }
}

TEST_P(FakeQuantize, MakesDenseMultiplyIntegers) {
  Rng rng(4);
  Tensor x({3, 700});
  Tensor w({700, 5});
  rng.fill_normal(x, 0, 1);
  rng.fill_normal(w, 0, 1);
  const QuantParams xg{.scale = Tensor::scalar(0.01f)};
  const QuantParams wg{
      .scale = Tensor::full({5}, 0.02f), .axis = 1, .low = -127};
  const Variable y =
      dense(fake_quantize(Variable(x), xg), fake_quantize(Variable(w), wg));
  const Tensor xq = quantize(x, xg);
  const Tensor wq = quantize(w, wg);
  for (size_t n = 0; n < 3; ++n)
    for (size_t k = 0; k < 5; ++k) {
      int32_t sum = 0;
      for (size_t c = 0; c < 700; ++c) {
        sum += xq.data<int8_t>()[n * 700 + c] * wq.data<int8_t>()[c * 5 + k];
      }
      EXPECT_EQ(y.value().f32()[n * 5 + k],
                static_cast<float>(sum) * (0.02f * 0.01f));
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, FakeQuantize, every_isa(), isa_name);

TEST(FakeQuantizeErrors, RejectsInvalidScales) {
  const Variable x(Tensor::full({2, 3}, 1));
  const auto with = [&](const Tensor& scale, int axis = -1) {
    return fake_quantize(x, {.scale = scale, .axis = axis});
  };
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)fake_quantize(x, QuantParams{}); }),
      (Failure{"missing_value", "fake_quantize"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)with(Tensor::scalar(0)); }),
            (Failure{"out_of_range", "fake_quantize"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)with(Tensor::scalar(-1)); }),
            (Failure{"out_of_range", "fake_quantize"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)with(Tensor::scalar(NAN)); }),
            (Failure{"out_of_range", "fake_quantize"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)with(Tensor::scalar(INFINITY)); }),
      (Failure{"out_of_range", "fake_quantize"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)with(Tensor::full({2}, 1)); }),
            (Failure{"count_mismatch", "quantization parameters"}));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)with(Tensor::full({3}, 1), 0); }),
      (Failure{"count_mismatch", "quantization parameters"}));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)with(Tensor::full({3}, 1), 2); }),
      (Failure{"out_of_range", "axis"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)with(Tensor::full({1, 3}, 1));
            }),
            (Failure{"count_mismatch", "quantization parameters"}));
}

// As with a quantizer that several layers share.
TEST_P(FakeQuantize, ReusesTheNodeOfAnEqualCall) {
  const Tensor start = Tensor::of<float>({2, 3}, {-9, -2, -0.5f, 0.25f, 3, 9});
  const Variable leaf(start, true);
  const Variable x = multiply(leaf, Variable(Tensor::scalar(1.0f)));
  const QuantParams qparams{
      .scale = Tensor::scalar(0.5f), .low = -8, .high = 7};
  const QuantParams equal{.scale = Tensor::scalar(0.5f), .low = -8, .high = 7};
  const QuantParams other{.scale = Tensor::scalar(0.25f), .low = -8, .high = 7};
  const Variable first = fake_quantize(x, qparams);
  EXPECT_EQ(fake_quantize(x, equal).id(), first.id());
  EXPECT_NE(fake_quantize(x, equal, StraightThrough::pass_through).id(),
            first.id());
  EXPECT_NE(fake_quantize(x, other).id(), first.id());
  EXPECT_NE(fake_quantize(leaf, qparams).id(),
            fake_quantize(leaf, qparams).id());
  const Variable again = fake_quantize(x, qparams);
  sum(add(multiply(again, Variable(Tensor::scalar(3.0f))),
          fake_quantize(x, equal)))
      .backward();
  EXPECT_EQ(leaf.grad().f32()[0], 0);  // clipped below -4.25
  EXPECT_EQ(leaf.grad().f32()[1], 4);
  EXPECT_EQ(leaf.grad().f32()[5], 0);
  // The tape is released; a new node starts another.
  const Variable next =
      fake_quantize(multiply(leaf, Variable(Tensor::scalar(1.0f))), qparams);
  sum(next).backward();
  EXPECT_EQ(leaf.grad().f32()[1], 5);
}

}  // namespace
}  // namespace octet
