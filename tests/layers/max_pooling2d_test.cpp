#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

void expect_definition(const Tensor& x, const MaxPooling2DOptions& o) {
  const int64_t n = x.shape()[0], h = x.shape()[1], w = x.shape()[2],
                c = x.shape()[3];
  const Size2 strides{o.strides.h == 0 ? o.pool_size.h : o.strides.h,
                      o.strides.w == 0 ? o.pool_size.w : o.strides.w};
  const Pads p = o.padding.pads({h, w}, o.pool_size, strides, o.dilation_rate);
  const int64_t oh = window_positions(h, o.pool_size.h, strides.h,
                                      o.dilation_rate.h, p.top + p.bottom);
  const int64_t ow = window_positions(w, o.pool_size.w, strides.w,
                                      o.dilation_rate.w, p.left + p.right);
  std::vector<float> expected;
  for (int64_t in = 0; in < n; ++in) {
    for (int64_t ioh = 0; ioh < oh; ++ioh) {
      for (int64_t iow = 0; iow < ow; ++iow) {
        for (int64_t ic = 0; ic < c; ++ic) {
          float top = -std::numeric_limits<float>::infinity();
          for (int64_t cell = 0; cell < o.pool_size.h * o.pool_size.w; ++cell) {
            const int64_t ih = ioh * strides.h +
                               cell / o.pool_size.w * o.dilation_rate.h - p.top;
            const int64_t iw = iow * strides.w +
                               cell % o.pool_size.w * o.dilation_rate.w -
                               p.left;
            if (ih < 0 || ih >= h || iw < 0 || iw >= w) continue;
            const int64_t at = ((in * h + ih) * w + iw) * c + ic;
            top = std::max(top, x.f32()[static_cast<size_t>(at)]);
          }
          expected.push_back(top);
        }
      }
    }
  }
  const Tensor y = infer(MaxPooling2D(o), x);
  EXPECT_EQ(y.shape(), Shape({n, oh, ow, c}));
  EXPECT_EQ(values(y), expected);
}

TEST(MaxPooling2D, ComputesAHandCheckedExample) {
  const Tensor x = Tensor::of<float>({1, 2, 4, 1}, {1, 2, 3, 4, 5, -6, -7, -8});
  EXPECT_EQ(values(infer(MaxPooling2D(), x)), (std::vector<float>{5, 4}));
}

TEST(MaxPooling2D, FollowsItsDefinitionForAnyChannelCounts) {
  for (const int64_t c : {1, 3, 17}) {
    SCOPED_TRACE(c);
    expect_definition(noise({2, 6, 9, c}), {});
  }
}

TEST(MaxPooling2D, FollowsItsDefinitionWithDilation) {
  const Tensor x = noise({2, 7, 9, 3});
  expect_definition(x, {.pool_size = {2, 3}, .dilation_rate = {3, 2}});
  expect_definition(x, {.pool_size = {3, 2},
                        .strides = {2, 1},
                        .padding = Padding::same,
                        .dilation_rate = {2, 3}});
  expect_definition(x, {.pool_size = {2, 2},
                        .strides = {1, 1},
                        .padding = Pads{2, 1, 0, 3},
                        .dilation_rate = {2, 4}});
}

TEST(MaxPooling2D, FollowsItsDefinitionForABatchOfOne) {
  expect_definition(noise({1, 5, 4, 3}), {});
}

TEST(MaxPooling2D, FollowsItsDefinitionForWindowsAndStridesOfAnySize) {
  MaxPooling2DOptions options;
  options.pool_size = {3, 2};
  options.strides = {1, 3};
  expect_definition(noise({2, 7, 9, 3}), options);
  options.padding = Padding::same;
  expect_definition(noise({2, 7, 9, 3}), options);
  options.strides = {2, 2};
  expect_definition(noise({2, 8, 5, 3}), options);
}

TEST(MaxPooling2D, NeverReturnsPadding) {
  MaxPooling2DOptions options{.padding = Padding::same};
  options.pool_size = {3, 3};
  options.strides = {1, 1};
  const Tensor x = Tensor::full({1, 2, 3, 1}, -5);
  EXPECT_EQ(values(infer(MaxPooling2D(options), x)),
            std::vector<float>(6, -5.0f));
}

TEST(MaxPooling2D, AcceptsAWindowLargerThanTheImageWithSame) {
  MaxPooling2DOptions options{.padding = Padding::same};
  options.pool_size = {4, 5};
  expect_definition(noise({1, 2, 3, 2}), options);
}

TEST(MaxPooling2D, StridesByThePoolSizeByDefault) {
  MaxPooling2DOptions options;
  options.pool_size = {2, 3};
  EXPECT_EQ(MaxPooling2D(options)(input({8, 9, 2})).shape(),
            Shape({Shape::kAnySize, 4, 3, 2}));
  options.strides = {2, 1};
  EXPECT_EQ(MaxPooling2D(options)(input({8, 9, 2})).shape(),
            Shape({Shape::kAnySize, 4, 7, 2}));
  // Keras does not support a stride of 0.
  options.strides = {2, 0};
  EXPECT_THROW((void)MaxPooling2D(options), ValueError);
}

TEST(MaxPooling2D, DropsAnIncompleteWindowUnlessPadded) {
  EXPECT_EQ(MaxPooling2D()(input({7, 5, 2})).shape(),
            Shape({Shape::kAnySize, 3, 2, 2}));
  EXPECT_EQ(MaxPooling2D({.padding = Padding::same})(input({7, 5, 2})).shape(),
            Shape({Shape::kAnySize, 4, 3, 2}));
}

TEST(MaxPooling2D, HasNoParameters) {
  EXPECT_EQ(single(MaxPooling2D(), {4, 4, 1}).parameter_count(), 0);
}

TEST(MaxPooling2D, RejectsOptionsOutOfRange) {
  const auto failure = [](const MaxPooling2DOptions& options) {
    return failure_of<ValueError>([&] { (void)MaxPooling2D(options); });
  };
  EXPECT_EQ(failure({.pool_size = {0, 2}}),
            (Failure{"out_of_range", "pool_size"}));
  EXPECT_EQ(failure({.strides = {2, -1}}),
            (Failure{"out_of_range", "strides"}));
}

TEST(MaxPooling2D, RejectsPaddingThatFillsAWindow) {
  EXPECT_EQ(
      failure_of<ValueError>([] {
        (void)MaxPooling2D({.pool_size = {2, 3}, .padding = Pads{0, 0, 1, 3}});
      }),
      (Failure{"out_of_range", "padding"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)MaxPooling2D({.padding = Pads{-1, 0, 0, 0}});
            }),
            (Failure{"out_of_range", "padding"}));
  EXPECT_NO_THROW(
      (void)MaxPooling2D({.pool_size = {2, 3}, .padding = Pads{1, 1, 2, 2}}));
}

TEST(MaxPooling2D, RejectsInputsOtherThanImages) {
  const Failure failure = failure_of<ShapeError>(
      [] { (void)MaxPooling2D({.name = "pool"})(input({28})); });
  EXPECT_EQ(failure, (Failure{"invalid_shape", "input"}));
}

TEST(MaxPooling2D, RejectsAWindowThatDoesNotFit) {
  const Failure failure = failure_of<ShapeError>([] {
    (void)MaxPooling2D({.pool_size = {2, 4}})(input({8, 3, 1}));
  });
  EXPECT_EQ(failure, (Failure{"invalid_shape", "input"}));
}

TEST(MaxPooling2D, RoundTripsThroughItsConfiguration) {
  MaxPooling2DOptions options{.padding = Padding::same};
  options.pool_size = {3, 2};
  options.strides = {1, 4};
  const Config config = MaxPooling2D(options)->config();
  EXPECT_EQ(create_layer("MaxPooling2D", config)->config(), config);
  EXPECT_EQ(config.at("pool_size").as_list()[0].as_int(), 3);
  EXPECT_EQ(config.at("strides").as_list()[1].as_int(), 4);
  EXPECT_EQ(config.at("padding").as_string(), "same");
}

}  // namespace
}  // namespace octet
