#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

Shape shape_of(const Conv2DTransposeOptions& options, const Shape& x) {
  return Conv2DTranspose(options)(input(x)).shape();
}

/// Every input pixel adds its multiple of the kernel, starting `first` pixels
/// before pixel * stride, in doubles.
std::vector<float> plain_transpose(const Tensor& x, const Tensor& kernel,
                                   const Shape& y,
                                   const Conv2DTransposeOptions& o,
                                   Size2 first) {
  const Size2 stride = o.strides, dilation = o.dilation_rate;
  const Shape& s = x.shape();
  const Shape& k = kernel.shape();
  std::vector<double> sums(static_cast<size_t>(y.size()));
  const float* from = x.f32().data();
  for (int64_t n = 0; n < s[0]; ++n)
    for (int64_t i = 0; i < s[1]; ++i)
      for (int64_t j = 0; j < s[2]; ++j, from += s[3])
        for (int64_t a = 0; a < k[0]; ++a)
          for (int64_t b = 0; b < k[1]; ++b) {
            const int64_t h = i * stride.h + a * dilation.h - first.h;
            const int64_t w = j * stride.w + b * dilation.w - first.w;
            if (h < 0 || h >= y[1] || w < 0 || w >= y[2]) continue;
            const float* weights =
                kernel.f32().data() + (a * k[1] + b) * k[2] * k[3];
            for (int64_t f = 0; f < k[2]; ++f)
              for (int64_t c = 0; c < k[3]; ++c, ++weights) {
                const int64_t group = c / (k[3] / o.groups);
                const int64_t at =
                    ((n * y[1] + h) * y[2] + w) * y[3] + group * k[2] + f;
                sums[static_cast<size_t>(at)] += double{from[c]} * *weights;
              }
          }
  return {sums.begin(), sums.end()};
}

void expect_definition(const Tensor& x, const Conv2DTransposeOptions& options,
                       Size2 first) {
  const Conv2DTranspose layer(options);
  const Model model = single(layer, x.shape().slice(1, 4));
  const Parameter& kernel = layer->parameter("kernel");
  kernel.variable.assign(integers(kernel.variable.shape(), 5));
  const NoGradGuard no_grad;
  const Tensor y = model(Variable(x)).value();
  EXPECT_EQ(y.shape(), model.outputs()[0].shape().with(0, x.shape()[0]));
  EXPECT_EQ(values(y), plain_transpose(x, kernel.variable.value(), y.shape(),
                                       options, first));
}

TEST(Conv2DTranspose, ComputesAHandCheckedExample) {
  const Conv2DTranspose layer(
      {.filters = 1, .kernel_size = {1, 3}, .strides = {1, 2}});
  const Model model = single(layer, {1, 2, 1});
  layer->parameter("kernel").variable.assign(
      Tensor::of<float>({1, 3, 1, 1}, {1, 2, 3}));
  layer->parameter("bias").variable.assign(Tensor::of<float>({1}, {100}));
  const NoGradGuard no_grad;
  const Variable y = model(Variable(Tensor::of<float>({1, 1, 2, 1}, {1, 10})));
  EXPECT_EQ(values(y), (std::vector<float>{101, 102, 113, 120, 130}));
}

TEST(Conv2DTranspose, HasTheOutputSizesOfKeras) {
  const int64_t n = Shape::kAnySize;
  EXPECT_EQ(shape_of({.filters = 8}, {5, 7, 3}), Shape({n, 7, 9, 8}));
  EXPECT_EQ(shape_of({.filters = 8, .strides = {2, 3}}, {5, 7, 3}),
            Shape({n, 11, 21, 8}));
  EXPECT_EQ(shape_of({.filters = 8, .kernel_size = {2, 1}, .strides = {3, 2}},
                     {5, 7, 3}),
            Shape({n, 15, 14, 8}));
  EXPECT_EQ(
      shape_of({.filters = 8, .strides = {2, 3}, .padding = Padding::same},
               {5, 7, 3}),
      Shape({n, 10, 21, 8}));
  EXPECT_EQ(shape_of({.filters = 8, .padding = Pads{1, 0, 2, 1}}, {5, 7, 3}),
            Shape({n, 6, 6, 8}));
  EXPECT_EQ(shape_of({.filters = 8, .dilation_rate = {2, 3}}, {5, 7, 3}),
            Shape({n, 9, 13, 8}));
}

TEST(Conv2DTranspose, FollowsItsDefinitionForAnyChannelCounts) {
  for (const int64_t c : {1, 3, 17}) {
    for (const int64_t k : {1, 3, 17}) {
      SCOPED_TRACE(::testing::Message() << c << " -> " << k);
      expect_definition(integers({2, 3, 4, c}),
                        {.filters = k, .strides = {2, 2}}, {0, 0});
    }
  }
}

TEST(Conv2DTranspose, FollowsItsDefinitionWithEachKindOfPadding) {
  const Tensor x = integers({1, 3, 4, 2});
  // 'same' removes kernel - stride pixels, the smaller half at the beginning.
  expect_definition(x, {.filters = 3, .padding = Padding::same}, {1, 1});
  expect_definition(
      x, {.filters = 3, .strides = {2, 3}, .padding = Padding::same}, {0, 0});
  expect_definition(x,
                    {.filters = 3,
                     .kernel_size = {5, 4},
                     .strides = {2, 2},
                     .padding = Padding::same},
                    {1, 1});
  expect_definition(
      x, {.filters = 3, .strides = {1, 2}, .padding = Pads{2, 1, 0, 1}},
      {2, 0});
}

TEST(Conv2DTranspose, FollowsItsDefinitionWithStridesLargerThanTheKernel) {
  expect_definition(integers({2, 3, 2, 3}),
                    {.filters = 2, .kernel_size = {2, 1}, .strides = {3, 3}},
                    {0, 0});
  expect_definition(integers({2, 3, 2, 3}),
                    {.filters = 2,
                     .kernel_size = {2, 1},
                     .strides = {3, 3},
                     .padding = Padding::same},
                    {0, 0});
}

TEST(Conv2DTranspose, FollowsItsDefinitionWithDilation) {
  expect_definition(integers({2, 4, 3, 3}),
                    {.filters = 2, .strides = {1, 2}, .dilation_rate = {2, 3}},
                    {0, 0});
}

TEST(Conv2DTranspose, FollowsItsDefinitionWithGroups) {
  expect_definition(integers({2, 4, 3, 6}),
                    {.filters = 9, .strides = {2, 1}, .groups = 3}, {0, 0});
  expect_definition(integers({2, 3, 4, 17}),
                    {.filters = 17, .strides = {2, 2}, .groups = 17}, {0, 0});
  expect_definition(integers({1, 3, 2, 4}), {.filters = 2, .groups = 2},
                    {0, 0});
}

TEST(Conv2DTranspose, RejectsGroupsThatDoNotDivide) {
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)Conv2DTranspose({.filters = 4, .groups = 3}); }),
            (Failure{"out_of_range", "groups"}));
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)Conv2DTranspose({.filters = 4, .groups = 0}); }),
            (Failure{"out_of_range", "groups"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)shape_of({.filters = 4, .groups = 4}, {5, 6, 2});
            }).code,
            "out_of_range");
}

TEST(Conv2DTranspose, HasKerasParametersWithScalesPerFilter) {
  const Conv2DTranspose layer({.filters = 6, .kernel_size = {2, 3}});
  const Model model = single(layer, {8, 9, 4});
  ASSERT_EQ(layer->parameters().size(), 2u);
  EXPECT_EQ(layer->parameters()[0].name, "kernel");
  EXPECT_EQ(layer->parameters()[0].variable.shape(), Shape({2, 3, 6, 4}));
  EXPECT_EQ(layer->parameters()[0].channel_axis, 2);
  EXPECT_EQ(layer->parameters()[1].variable.shape(), Shape({6}));
}

TEST(Conv2DTranspose, CountsItsMultiplyAdds) {
  const Conv2DTranspose layer({.filters = 5, .strides = {2, 2}});
  const Shape x{Shape::kAnySize, 6, 9, 3};
  EXPECT_EQ(layer->facts(std::span(&x, 1)).multiply_adds, 6 * 9 * 3 * 9 * 5);
}

TEST(Conv2DTranspose, RejectsOptionsOutOfRange) {
  const auto failure = [](const Conv2DTransposeOptions& options) {
    return failure_of<ValueError>([&] { (void)Conv2DTranspose(options); });
  };
  EXPECT_EQ(failure({.name = "up"}), (Failure{"out_of_range", "filters"}));
  EXPECT_EQ(failure({.filters = -4, .name = "up"}),
            (Failure{"out_of_range", "filters"}));
  EXPECT_EQ(failure({.filters = 1, .kernel_size = {3, 0}}),
            (Failure{"out_of_range", "kernel_size"}));
  EXPECT_EQ(failure({.filters = 1, .strides = {0, 1}}),
            (Failure{"out_of_range", "strides"}));
}

TEST(Conv2DTranspose, RejectsPaddingThatLeavesNoOutput) {
  const Failure failure = failure_of<ShapeError>([] {
    (void)Conv2DTranspose({.filters = 1,
                           .padding = Pads{2, 1, 0, 0},
                           .name = "up"})(input({1, 4, 3}));
  });
  EXPECT_EQ(failure, (Failure{"out_of_range", "padding"}));
  EXPECT_THROW((void)Conv2DTranspose({.filters = 1})(input({28, 28})),
               ShapeError);
}

TEST(Conv2DTranspose, RoundTripsThroughItsConfiguration) {
  Conv2DTransposeOptions options{.filters = 6, .padding = Padding::same};
  options.strides = {2, 3};
  const Config config = Conv2DTranspose(options)->config();
  EXPECT_EQ(create_layer("Conv2DTranspose", config)->config(), config);
  EXPECT_EQ(config.at("strides").as_list()[1].as_int(), 3);
}

TEST(Conv2DTranspose, AcceptsOutputPaddingBelowTheStrides) {
  const auto size = [](Size2 more, const Padding& padding) {
    return Conv2DTranspose({.filters = 2,
                            .strides = {2, 3},
                            .padding = padding,
                            .output_padding = more})(input({4, 5, 3}))
        .shape();
  };
  constexpr int64_t kN = Shape::kAnySize;
  EXPECT_EQ(size({0, 0}, "same"), Shape({kN, 7, 13, 2}));
  EXPECT_EQ(size({1, 2}, "same"), Shape({kN, 8, 15, 2}));
  EXPECT_EQ(size({1, 2}, "valid"), Shape({kN, 10, 17, 2}));
  EXPECT_EQ(size({1, 0}, Pads(1)), Shape({kN, 8, 13, 2}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)size({2, 0}, "same");
            }),
            (Failure{"out_of_range", "output_padding"}));
  EXPECT_THROW(size({0, -1}, "same"), ValueError);
}

}  // namespace
}  // namespace octet
