#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "support.h"

namespace octet {
namespace {

/// Compares the layer with its two convolutions, using integer weights.
void expect_two_layers(const Tensor& x, const SeparableConv2DOptions& o) {
  const SeparableConv2D layer(o);
  const Model model = single(layer, x.shape().slice(1, 4));
  for (const Parameter& p : layer->parameters()) {
    p.variable.assign(integers(p.variable.shape(), 5));
  }
  const DepthwiseConv2D depthwise({.kernel_size = o.kernel_size,
                                   .strides = o.strides,
                                   .padding = o.padding,
                                   .depth_multiplier = o.depth_multiplier,
                                   .dilation_rate = o.dilation_rate,
                                   .use_bias = false});
  const Conv2D pointwise({.filters = o.filters,
                          .kernel_size = {1, 1},
                          .activation = o.activation,
                          .use_bias = o.use_bias});
  const SymbolicTensor in = input(x.shape().slice(1, 4));
  const Model both(in, pointwise(depthwise(in)));
  depthwise->parameter("depthwise_kernel")
      .variable.assign(layer->parameter("depthwise_kernel").variable.value());
  pointwise->parameter("kernel").variable.assign(
      layer->parameter("pointwise_kernel").variable.value());
  if (o.use_bias) {
    pointwise->parameter("bias").variable.assign(
        layer->parameter("bias").variable.value());
  }
  const NoGradGuard no_grad;
  const Variable y = model(Variable(x));
  EXPECT_EQ(y.shape(), model.outputs()[0].shape().with(0, x.shape()[0]));
  EXPECT_EQ(values(y), values(both(Variable(x))));
}

TEST(SeparableConv2D, EqualsADepthwiseAndAPointwiseConvolution) {
  for (const int64_t c : {1, 3, 17}) {
    SCOPED_TRACE(c);
    expect_two_layers(integers({2, 5, 7, c}), {.filters = 4});
  }
  expect_two_layers(
      integers({1, 6, 8, 3}),
      {.filters = 5, .strides = {2, 2}, .padding = Padding::same});
  expect_two_layers(integers({2, 6, 7, 3}), {.filters = 5,
                                             .kernel_size = {2, 3},
                                             .padding = Pads{0, 1, 2, 0},
                                             .dilation_rate = {2, 1},
                                             .depth_multiplier = 3,
                                             .activation = "relu",
                                             .use_bias = false});
}

TEST(SeparableConv2D, HasKerasParameters) {
  const SeparableConv2D layer({.filters = 6, .depth_multiplier = 2});
  const Model model = single(layer, {8, 9, 4});
  ASSERT_EQ(layer->parameters().size(), 3u);
  EXPECT_EQ(layer->parameters()[0].name, "depthwise_kernel");
  EXPECT_EQ(layer->parameters()[0].variable.shape(), Shape({3, 3, 4, 2}));
  EXPECT_EQ(layer->parameters()[0].channel_axis, 2);
  EXPECT_EQ(layer->parameters()[1].name, "pointwise_kernel");
  EXPECT_EQ(layer->parameters()[1].variable.shape(), Shape({1, 1, 8, 6}));
  EXPECT_EQ(layer->parameters()[1].channel_axis, -1);
  EXPECT_EQ(layer->parameters()[2].name, "bias");
  EXPECT_EQ(layer->parameters()[2].variable.shape(), Shape({6}));
}

TEST(SeparableConv2D, CountsItsMultiplyAdds) {
  const SeparableConv2D layer({.filters = 5, .depth_multiplier = 2});
  const Shape x{Shape::kAnySize, 6, 9, 3};
  EXPECT_EQ(layer->facts(std::span(&x, 1)).multiply_adds, 4 * 7 * 6 * (9 + 5));
}

TEST(SeparableConv2D, RejectsOptionsOutOfRange) {
  const auto failure = [](const SeparableConv2DOptions& options) {
    return failure_of<ValueError>([&] { (void)SeparableConv2D(options); });
  };
  EXPECT_EQ(failure({.name = "sep"}), (Failure{"out_of_range", "filters"}));
  EXPECT_EQ(failure({.filters = -4, .name = "sep"}),
            (Failure{"out_of_range", "filters"}));
  EXPECT_EQ(failure({.filters = 1, .depth_multiplier = 0}),
            (Failure{"out_of_range", "depth_multiplier"}));
  EXPECT_EQ(failure({.filters = 1, .strides = {0, 1}}),
            (Failure{"out_of_range", "strides"}));
}

TEST(SeparableConv2D, RejectsAKernelThatDoesNotFit) {
  EXPECT_EQ(
      failure_of<ShapeError>([] {
        (void)SeparableConv2D({.filters = 1, .name = "sep"})(input({2, 4, 3}));
      }),
      (Failure{"invalid_shape", "input"}));
}

TEST(SeparableConv2D, RoundTripsThroughItsConfiguration) {
  SeparableConv2DOptions options{.filters = 6, .padding = Padding::same};
  options.depth_multiplier = 3;
  options.pointwise_initializer = he_normal();
  const Config config = SeparableConv2D(options)->config();
  EXPECT_EQ(create_layer("SeparableConv2D", config)->config(), config);
  EXPECT_EQ(config.at("depth_multiplier").as_int(), 3);
}

}  // namespace
}  // namespace octet
