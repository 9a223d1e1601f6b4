#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

/// The definition of Keras' DepthwiseConv2D, in doubles.
std::vector<float> plain_depthwise(const Tensor& x, const Tensor& kernel,
                                   const Tensor& bias,
                                   const DepthwiseConv2DOptions& o) {
  const Shape& s = x.shape();
  const int64_t h = s[1], w = s[2], c = s[3], m = o.depth_multiplier;
  const int64_t kh = o.kernel_size.h, kw = o.kernel_size.w;
  const Pads p =
      o.padding.pads({h, w}, o.kernel_size, o.strides, o.dilation_rate);
  const int64_t oh =
      window_positions(h, kh, o.strides.h, o.dilation_rate.h, p.top + p.bottom);
  const int64_t ow =
      window_positions(w, kw, o.strides.w, o.dilation_rate.w, p.left + p.right);
  const auto at = [](const Tensor& t, int64_t index) {
    return static_cast<double>(t.f32()[static_cast<size_t>(index)]);
  };
  std::vector<float> y;
  for (int64_t n = 0; n < s[0]; ++n)
    for (int64_t i = 0; i < oh; ++i)
      for (int64_t j = 0; j < ow; ++j)
        for (int64_t k = 0; k < c * m; ++k) {
          double sum = bias.empty() ? 0 : at(bias, k);
          for (int64_t a = 0; a < kh; ++a)
            for (int64_t b = 0; b < kw; ++b) {
              const int64_t ih =
                  i * o.strides.h + a * o.dilation_rate.h - p.top;
              const int64_t iw =
                  j * o.strides.w + b * o.dilation_rate.w - p.left;
              if (ih < 0 || ih >= h || iw < 0 || iw >= w) continue;
              sum += at(x, ((n * h + ih) * w + iw) * c + k / m) *
                     at(kernel, (a * kw + b) * c * m + k);
            }
          y.push_back(static_cast<float>(sum));
        }
  return y;
}

/// Runs the layer with integer weights, so that both sides are exact.
void expect_definition(const Tensor& x, const DepthwiseConv2DOptions& options) {
  const DepthwiseConv2D layer(options);
  const Model model = single(layer, x.shape().slice(1, 4));
  const Parameter& kernel = layer->parameter("depthwise_kernel");
  kernel.variable.assign(integers(kernel.variable.shape(), 5));
  Tensor bias;
  if (options.use_bias) {
    bias = integers({x.shape()[3] * options.depth_multiplier}, 3);
    layer->parameter("bias").variable.assign(bias);
  }
  const NoGradGuard no_grad;
  const Tensor y = model(Variable(x)).value();
  EXPECT_EQ(y.shape(), model.outputs()[0].shape().with(0, x.shape()[0]));
  EXPECT_EQ(values(y),
            plain_depthwise(x, kernel.variable.value(), bias, options));
}

TEST(DepthwiseConv2D, ComputesAHandCheckedExample) {
  const DepthwiseConv2D layer({.kernel_size = {1, 2}});
  const Model model = single(layer, {1, 3, 2});
  layer->parameter("depthwise_kernel")
      .variable.assign(Tensor::of<float>({1, 2, 2, 1}, {1, 10, 2, 20}));
  layer->parameter("bias").variable.assign(Tensor::of<float>({2}, {0, 1000}));
  const NoGradGuard no_grad;
  const Variable y =
      model(Variable(Tensor::of<float>({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6})));
  EXPECT_EQ(values(y), (std::vector<float>{7, 1100, 13, 1160}));
}

TEST(DepthwiseConv2D, FollowsItsDefinitionForAnyChannelCounts) {
  for (const int64_t c : {1, 3, 8, 17, 33}) {
    for (const int64_t m : {1, 3}) {
      SCOPED_TRACE(::testing::Message() << c << " times " << m);
      expect_definition(integers({2, 5, 13, c}), {.depth_multiplier = m});
    }
  }
}

TEST(DepthwiseConv2D, FollowsItsDefinitionWithEachKindOfPadding) {
  DepthwiseConv2DOptions options{.padding = Padding::same};
  expect_definition(integers({1, 5, 8, 3}), options);
  options.strides = {2, 2};
  expect_definition(integers({2, 6, 8, 3}), options);
  options.kernel_size = {2, 4};
  options.strides = {1, 3};
  expect_definition(integers({2, 6, 9, 5}), options);
  options.padding = Pads{2, 0, 1, 3};
  expect_definition(integers({2, 6, 9, 5}), options);
}

TEST(DepthwiseConv2D, FollowsItsDefinitionWithDilationAndWithoutBias) {
  DepthwiseConv2DOptions options{.strides = {2, 1}, .use_bias = false};
  options.dilation_rate = {2, 3};
  expect_definition(integers({2, 7, 9, 3}), options);
}

TEST(DepthwiseConv2D, PropagatesNan) {
  Tensor x = Tensor::zeros({1, 3, 3, 2});
  x.f32()[8] = NAN;
  const Tensor y = infer(DepthwiseConv2D(), x);
  EXPECT_TRUE(std::isnan(y.f32()[0]));
  EXPECT_EQ(y.f32()[1], 0.0f);
}

TEST(DepthwiseConv2D, HasKerasParametersWithScalesPerInputChannel) {
  const DepthwiseConv2D layer({.kernel_size = {3, 5}, .depth_multiplier = 2});
  const Model model = single(layer, {8, 8, 4});
  ASSERT_EQ(layer->parameters().size(), 2u);
  const Parameter& kernel = layer->parameters()[0];
  EXPECT_EQ(kernel.name, "depthwise_kernel");
  EXPECT_EQ(kernel.variable.shape(), Shape({3, 5, 4, 2}));
  EXPECT_EQ(kernel.channel_axis, 2);
  // Keras computes fans from the last two axes: 60 in, 30 out.
  const float limit = std::sqrt(6.0f / (60 + 30));
  const auto [low, high] = std::ranges::minmax(values(kernel.variable));
  EXPECT_LE(high, limit);
  EXPECT_GE(low, -limit);
  // 120 draws stay within 80 % of either end once in 10^5 times.
  EXPECT_GT(high, 0.8f * limit);
  EXPECT_EQ(layer->parameters()[1].variable.shape(), Shape({8}));
}

TEST(DepthwiseConv2D, CountsItsMultiplyAdds) {
  const DepthwiseConv2D layer(
      {.padding = Padding::same, .depth_multiplier = 2});
  const Shape x{Shape::kAnySize, 28, 14, 3};
  EXPECT_EQ(layer->facts(std::span(&x, 1)).multiply_adds, 28 * 14 * 3 * 2 * 9);
}

TEST(DepthwiseConv2D, RejectsOptionsOutOfRange) {
  const auto failure = [](const DepthwiseConv2DOptions& options) {
    return failure_of<ValueError>([&] { (void)DepthwiseConv2D(options); });
  };
  EXPECT_EQ(failure({.depth_multiplier = 0, .name = "dw"}),
            (Failure{"out_of_range", "depth_multiplier"}));
  EXPECT_EQ(failure({.depth_multiplier = -1, .name = "dw"}),
            (Failure{"out_of_range", "depth_multiplier"}));
  EXPECT_EQ(failure({.kernel_size = {0, 3}}),
            (Failure{"out_of_range", "kernel_size"}));
  EXPECT_EQ(failure({.strides = {1, 0}}), (Failure{"out_of_range", "strides"}));
  EXPECT_EQ(failure({.dilation_rate = {-2, 1}}),
            (Failure{"out_of_range", "dilation_rate"}));
  EXPECT_EQ(failure({.activation = "rellu"}),
            (Failure{"unknown_name", "activation"}));
}

TEST(DepthwiseConv2D, RejectsInvalidInputs) {
  const Failure failure = failure_of<ShapeError>([] {
    (void)DepthwiseConv2D({.padding = Pads{1, 0, 0, 0}, .name = "dw"})(
        input({1, 4, 3}));
  });
  EXPECT_EQ(failure, (Failure{"invalid_shape", "input"}));
  EXPECT_THROW((void)DepthwiseConv2D()(input({28, 28})), ShapeError);
}

TEST(DepthwiseConv2D, RoundTripsThroughItsConfiguration) {
  DepthwiseConv2DOptions options{.strides = {2, 3}, .padding = Padding::same};
  options.depth_multiplier = 4;
  options.activation = "relu6";
  const Config config = DepthwiseConv2D(options)->config();
  EXPECT_EQ(create_layer("DepthwiseConv2D", config)->config(), config);
  EXPECT_EQ(config.at("depth_multiplier").as_int(), 4);
  EXPECT_EQ(config.at("strides").as_list()[1].as_int(), 3);
}

TEST(DepthwiseConv2D, AppliesItsActivation) {
  const Tensor x = integers({1, 4, 5, 3});
  const DepthwiseConv2D plain({.name = "a"});
  const DepthwiseConv2D clipped({.activation = "relu", .name = "a"});
  std::vector<float> expected = values(infer(plain, x));
  for (float& v : expected) v = std::max(v, 0.0f);
  EXPECT_EQ(values(infer(clipped, x)), expected);
}

}  // namespace
}  // namespace octet
