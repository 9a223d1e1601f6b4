// Unsigned ranges [0, 2^bits - 1] of tensors that cannot be negative.
#include <cmath>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::HasSubstr;

/// Returns whether each activation is signed, by its quantizer.
std::map<std::string, bool> signs(const Model& model, int width = 4) {
  std::map<std::string, bool> result;
  for (const QdqPoint& point : plan_for(model, {.policy = Policy::toolkit,
                                               .activation = {.bits = width}})
                                   .points) {
    if (point.site.kind == SiteKind::weight) {
      EXPECT_TRUE(point.config.is_signed);
    } else {
      result[point.group] = point.config.is_signed;
    }
  }
  return result;
}

/// Dense layers after the output of `make` on "x".
template <class Make>
bool sign_behind(Make make) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  const SymbolicTensor y = make(x);
  const Model model(x, Dense({.units = 2, .name = "reader"})(Flatten()(y)));
  const auto all = signs(model);
  EXPECT_EQ(all.size(), 1u);
  return all.begin()->second;
}

TEST(UnsignedCodes, AreForTensorsThatCannotBeNegative) {
  EXPECT_FALSE(sign_behind([](auto x) { return ReLU()(x); }));
  EXPECT_FALSE(sign_behind([](auto x) { return ReLU({.max_value = 3})(x); }));
  EXPECT_FALSE(sign_behind([](auto x) { return ReLU({.threshold = 1})(x); }));
  EXPECT_FALSE(sign_behind([](auto x) { return Activation("sigmoid")(x); }));
  EXPECT_FALSE(sign_behind([](auto x) { return Softmax()(x); }));
  EXPECT_FALSE(
      sign_behind([](auto x) { return Dropout({.rate = 0.5f})(ReLU()(x)); }));
  EXPECT_FALSE(sign_behind([](auto x) { return ZeroPadding2D()(ReLU()(x)); }));
}

TEST(UnsignedCodes, AreNotForTensorsThatMayBeNegative) {
  EXPECT_TRUE(sign_behind([](auto x) { return x; }));
  EXPECT_TRUE(
      sign_behind([](auto x) { return ReLU({.negative_slope = 0.1f})(x); }));
  EXPECT_TRUE(sign_behind([](auto x) { return Activation("swish")(x); }));
  EXPECT_TRUE(sign_behind([](auto x) { return ELU()(x); }));
  EXPECT_TRUE(sign_behind([](auto x) { return LeakyReLU()(x); }));
  EXPECT_TRUE(sign_behind(
      [](auto x) { return GaussianNoise({.stddev = 1.0f})(ReLU()(x)); }));
  EXPECT_TRUE(sign_behind([](auto x) {
    return Subtract()({ReLU()(x), ReLU()(x)});
  }));
  EXPECT_TRUE(sign_behind([](auto x) { return Add()({ReLU()(x), x}); }));
  EXPECT_TRUE(
      sign_behind([](auto x) { return BatchNormalization()(ReLU()(x)); }));
}

TEST(UnsignedCodes, PropagateThroughMergesAndPools) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  const SymbolicTensor y = ReLU()(x);
  for (const SymbolicTensor& z :
       {Add()({y, y}), Multiply()({y, y}), Concatenate()({y, y}),
        MaxPooling2D()(y), AveragePooling2D()(y)}) {
    const Model model(x, Dense({.units = 2})(Flatten({.name = "flat"})(z)));
    EXPECT_FALSE(signs(model).at("flat"));
  }
}

// Consumers share a quantizer; noise layers are skipped.
TEST(UnsignedCodes, AreForAllConsumersOfATensorOrNone) {
  const SymbolicTensor x = input({6}, "x");
  const SymbolicTensor y = ReLU({.name = "y"})(x);
  const SymbolicTensor noisy = GaussianNoise({.stddev = 1.0f})(y);
  const Model model({x}, {Dense({.units = 2})(y), Dense({.units = 2})(noisy)});
  EXPECT_TRUE(signs(model).at("y"));
  EXPECT_NO_THROW((void)quantize_model(model, {.activation = {.bits = 4}}));
}

TEST(UnsignedCodes, HaveEightBitsOnRequest) {
  const Model model = quickstart();
  EXPECT_TRUE(signs(model, 8).at("flatten"));
  EXPECT_FALSE(signs(model, 7).at("flatten"));
  const QdqPlan plan = plan_for(
      model, {.policy = Policy::toolkit, .activation = {.is_signed = false}});
  EXPECT_EQ(to_string(plan.points[0].config),
            "int8 [-128,127] per tensor fixed");
  const Model int8 = apply(plan, model);
  for (const PlacedQuantizer& placed : activation_quantizers(int8)) {
    const std::string& name = placed.quantizer->name();
    EXPECT_EQ(placed.quantizer->config().high(), name == "flatten" ? 255 : 127);
  }
}

TEST(UnsignedCodes, OfEightBitsRoundAsFloats) {
  Quantizer q("q", {.is_signed = false});
  q.set_scale(0.5f);
  const Variable y =
      q(Variable(tensor({1, 6}, {-3, 0.25f, 0.75f, 63.75f, 127.5f, 200})));
  EXPECT_EQ(values(y), (std::vector<float>{0, 0, 1, 64, 127.5f, 127.5f}));
}

TEST(UnsignedCodes, CoverZeroToTheLargest) {
  Quantizer q("q", {.bits = 4, .is_signed = false});
  q.set_scale(0.5f);
  const Variable y = q(Variable(tensor({1, 5}, {-3, 0.26f, 3, 7.5f, 100})));
  EXPECT_EQ(values(y), (std::vector<float>{0, 0.5f, 3, 7.5f, 7.5f}));
}

TEST(UnsignedCodes, AreCalibratedToTheFullRange) {
  Model model = quantize_model(quickstart(), {.activation = {.bits = 4}});
  const auto ranges =
      calibrate(model, samples(20, {8, 6, 1}), {.method = Calibration::max});
  ASSERT_EQ(ranges[1].quantizer, "flatten");
  EXPECT_EQ(ranges[1].scale, ranges[1].range / 15);
  EXPECT_EQ(ranges[0].scale, ranges[0].range / 7);
}

TEST(UnsignedCodes, RefuseNegativeCalibrationValues) {
  QdqPlan plan = plan_for(quickstart(), {.activation = {.bits = 4}});
  for (QdqPoint& point : plan.points) {
    if (point.group == "image") point.config.is_signed = false;
  }
  Model model = apply(plan, quickstart());
  EXPECT_EQ(failure_of<ValueError>([&] {
              calibrate(model, samples(4, {8, 6, 1}));
            }),
            (Failure{"invalid_value", "quantizer 'image'"}));
}

TEST(UnsignedCodes, AreNotForWeights) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              (void)quantize_model(quickstart(),
                                   {.weight = {.bits = 4, .is_signed = false}});
            }).code,
            "unsupported_value");
}

TEST(UnsignedCodes, ArePartOfPlans) {
  const QdqPlan plan = plan_for(quickstart(), {.activation = {.bits = 4}});
  EXPECT_EQ(plan_from_config(to_config(plan)), plan);
  EXPECT_THAT(plan.to_string(), HasSubstr("uint4 [0,15]"));
}

// Padding, odd channel counts, rows of several tiles, a depthwise layer, a
// residual.
Model small_residual_network() {
  const SymbolicTensor image = input({3, 45, 3}, "image");
  SymbolicTensor x =
      ReLU()(Conv2D({.filters = 5, .padding = Padding::same})(image));
  x = ReLU()(DepthwiseConv2D({.padding = Padding::same})(x));
  const SymbolicTensor y =
      ReLU()(Conv2D({.filters = 5, .padding = Padding::same})(x));
  x = ReLU()(Add()({x, y}));
  x = Dense({.units = 4})(GlobalAveragePooling2D()(x));
  Model plain(image, x);
  shake(plain);
  return plain;
}

Model with_unsigned_codes(const Model& plain, int width) {
  Model model =
      quantize_model(plain, {.activation = {.bits = width, .is_signed = false},
                             .weight = {.bits = width,
                                        .narrow_range = true,
                                        .per_channel = true,
                                        .rule = ScaleRule::live}});
  calibrate(model, samples(20, {3, 45, 3}), {.method = Calibration::mse});
  int64_t unsigned_codes = 0;
  for (const PlacedQuantizer& placed : activation_quantizers(model)) {
    unsigned_codes += !placed.quantizer->config().is_signed;
  }
  EXPECT_GE(unsigned_codes, 3);
  return model;
}

// Integer kernels compared with float kernels on quantized values; one sample
// and nine.
TEST(UnsignedCodes, MatchBitForBitInEveryExecutionMode) {
  const Model plain = small_residual_network();
  for (const int width : {8, 7, 4, 2}) {
    const Model model = with_unsigned_codes(plain, width);
    for (const int64_t n : {int64_t{1}, int64_t{9}}) {
      const Tensor in = noise({n, 3, 45, 3}, 4);
      const std::vector<uint32_t> expected = bits(model(Variable(in)));
      EXPECT_EQ(bits(InferenceSession(model).run(in)), expected);
      EXPECT_EQ(bits(model.predict(in)), expected);
      {
        const FloatGemmGuard float_codes;
        EXPECT_EQ(bits(model(Variable(in))), expected);
      }
      const EagerGuard eager;
      EXPECT_EQ(bits(model(Variable(in))), expected);
    }
  }
}

// Gradients of integer products, of float products on quantized values, and op
// by op.
TEST(UnsignedCodes, HaveTheSameGradientsInEveryExecutionMode) {
  for (const int width : {8, 4}) {
    const Model calibrated =
        with_unsigned_codes(small_residual_network(), width);
    const auto gradients = [&] {
      Model model = calibrated.clone();
      prepare_qat(model);
      freeze_bn_stats(model);
      const Variable y =
          model(Variable(noise({5, 3, 45, 3}, 4)), Mode::training);
      sum(y * y).backward();
      std::vector<std::vector<float>> all;
      for (const Parameter& p : model.parameters()) {
        if (!p.trainable) continue;
        const auto own = p.variable.grad().f32();
        all.emplace_back(own.begin(), own.end());
      }
      return all;
    };
    const auto expected = gradients();
    EXPECT_EQ(expected.size(), 8u);  // kernel and bias of each layer
    {
      const FloatGemmGuard float_codes;
      EXPECT_EQ(gradients(), expected) << width;
    }
    const EagerGuard eager;
    const auto by_ops = gradients();
    for (size_t i = 0; i < expected.size(); ++i) {
      for (size_t k = 0; k < expected[i].size(); ++k) {
        EXPECT_NEAR(by_ops[i][k], expected[i][k],
                    1e-4f * (1 + std::abs(expected[i][k])))
            << width << ", parameter " << i;
      }
    }
  }
}

}  // namespace
}  // namespace octet::quant
