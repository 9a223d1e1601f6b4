// Errors and edge cases of Keras 3 layers that the golden cases omit:
// GroupNormalization, RMSNormalization, UnitNormalization, LayerScale,
// Resizing, CenterCrop, RepeatVector, Dot; and of layers for graphs of other
// frameworks.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kOpen = Shape::kAnySize;

TEST(GroupNormalization, RejectsGroupsThatDoNotDivideTheChannels) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)GroupNormalization({.groups = 4})(input({5, 4, 6}));
            }),
            (Failure{"out_of_range", "groups"}));
  // The default of 32 groups exceeds the channels.
  EXPECT_THROW((void)GroupNormalization()(input({5, 4, 16})), ShapeError);
  EXPECT_THROW(GroupNormalization({.groups = 0}), ValueError);
  EXPECT_THROW(GroupNormalization({.groups = -2}), ValueError);
  EXPECT_THROW(GroupNormalization({.epsilon = 0}), ValueError);
  EXPECT_THROW(
      (void)GroupNormalization({.groups = 1, .axis = {1}})(input({5, 4, 6})),
      UnsupportedError);
  EXPECT_THROW((void)GroupNormalization({.groups = 1})(input({2, 5, 4, 6})),
               ShapeError);
  EXPECT_THROW((void)GroupNormalization({.groups = 1})(input({})), ShapeError);
}

TEST(GroupNormalization, ReturnsZeroForConstants) {
  const Tensor x = Tensor::full({2, 3, 2, 4}, 7);
  for (const float v : values(infer(GroupNormalization({.groups = 2}), x))) {
    EXPECT_EQ(v, 0);
  }
}

TEST(RMSNormalization, RejectsAxesOtherThanTheLast) {
  EXPECT_THROW((void)RMSNormalization({.axis = {1}})(input({5, 4, 6})),
               UnsupportedError);
  EXPECT_THROW((void)RMSNormalization({.axis = {-1, -2}})(input({5, 4, 6})),
               UnsupportedError);
  EXPECT_THROW(RMSNormalization({.epsilon = -1}), ValueError);
  EXPECT_THROW(RMSNormalization({.epsilon = INFINITY}), ValueError);
}

TEST(UnitNormalization, LeavesZerosUnchanged) {
  Model model = single(UnitNormalization(), {3});
  const Variable x(Tensor::zeros({2, 3}), true);
  const Variable y = model(x);
  EXPECT_EQ(values(y.value()), Floats(6, 0));
  sum(y).backward();
  for (const float v : values(x.grad())) EXPECT_TRUE(std::isfinite(v)) << v;
}

TEST(UnitNormalization, DividesByAtLeastEpsilon) {
  Model model = single(UnitNormalization({.epsilon = 1e-6f}), {2});
  const Tensor x = Tensor::of<float>({2, 2}, {3, 4, 0, 1e-7f});
  const std::vector<float> expected{0.6f, 0.8f, 0, 0.1f};
  EXPECT_THAT(values(model.predict(x)),
              ::testing::Pointwise(::testing::FloatEq(), expected));
  const Model again = model_from_config(to_config(model));
  EXPECT_EQ(values(again.predict(x)), values(model.predict(x)));
  for (const float wrong : {0.0f, -1.0f, 1e-19f, 2.0f, NAN}) {
    EXPECT_THROW((void)UnitNormalization({.epsilon = wrong}), ValueError);
  }
}

TEST(UnitNormalization, RejectsInvalidAxes) {
  EXPECT_THROW((void)UnitNormalization({.axis = {0}})(input({3})), ValueError);
  EXPECT_THROW((void)UnitNormalization({.axis = {-3}})(input({4, 3})),
               ValueError);
  EXPECT_THROW((void)UnitNormalization({.axis = {2}})(input({3})), ShapeError);
  EXPECT_THROW((void)UnitNormalization({.axis = {1, -1}})(input({3})),
               ValueError);
  EXPECT_THROW(UnitNormalization({.axis = {}}), ValueError);
}

TEST(LayerScale, StartsAtItsInitialValueAndTrains) {
  Model model = single(LayerScale({.init_values = 0.5f}), {2, 3});
  EXPECT_EQ(values(model.predict(Tensor::full({1, 2, 3}, 4))), Floats(6, 2));
  ASSERT_EQ(model.trainable_variables().size(), 1u);
  EXPECT_THROW((void)LayerScale({.projection_dim = 4})(input({3})), ShapeError);
  EXPECT_THROW(LayerScale({.init_values = NAN}), ValueError);
  EXPECT_THROW(LayerScale({.projection_dim = -1}), ValueError);
}

TEST(Resizing, RejectsInvalidSizesAndUnsupportedOptions) {
  EXPECT_THROW(Resizing({.height = 3}), ValueError);
  EXPECT_THROW(Resizing({.height = -1, .width = 2}), ValueError);
  EXPECT_EQ(
      failure_of<ValueError>([] {
        (void)Resizing({.height = 3, .width = 2, .interpolation = "bicubic"});
      }),
      (Failure{"invalid_value", "interpolation"}));
  EXPECT_THROW(Resizing({.height = 3,
                         .width = 2,
                         .crop_to_aspect_ratio = true,
                         .pad_to_aspect_ratio = true}),
               ValueError);
  EXPECT_THROW((void)Resizing({.height = 3, .width = 2})(input({4, 3})),
               ShapeError);
  const Config config =
      Config().set("height", 3).set("width", 2).set("antialias", true);
  EXPECT_EQ(failure_of<UnsupportedError>(
                [&] { (void)create_layer("Resizing", config); }),
            (Failure{"unsupported_value", "antialias"}));
}

TEST(CenterCrop, CropsTheCenter) {
  const Tensor x = tensor({1, 1, 6, 1}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(values(infer(CenterCrop({.height = 1, .width = 3}), x)),
            (Floats{1, 2, 3}));
  EXPECT_EQ(CenterCrop({.height = 9, .width = 2})(input({5, 4, 3})).shape(),
            Shape({kOpen, 9, 2, 3}));
  EXPECT_THROW(CenterCrop({.height = 0, .width = 2}), ValueError);
}

TEST(RepeatVector, RejectsInputsOtherThanVectors) {
  EXPECT_EQ(RepeatVector({.n = 4})(input({3})).shape(), Shape({kOpen, 4, 3}));
  EXPECT_THROW((void)RepeatVector({.n = 2})(input({4, 3})), ShapeError);
  EXPECT_THROW(RepeatVector({.n = 0}), ValueError);
}

TEST(Dot, RejectsInputsThatDoNotMatch) {
  const auto dot = [](const DotOptions& options, const Shape& x,
                      const Shape& y) {
    return Dot(options)({input(x), input(y)}).shape();
  };
  EXPECT_EQ(dot({.axes = {2, 1}}, {3, 5}, {5, 4}), Shape({kOpen, 3, 4}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              dot({.axes = {1}}, {3, 5}, {4, 5});
            }),
            (Failure{"shape_mismatch", "axes"}));
  EXPECT_THROW(dot({.axes = {0}}, {3}, {3}), ValueError);
  EXPECT_THROW(dot({.axes = {1, 2, 3}}, {3}, {3}), ValueError);
  EXPECT_THROW(dot({.axes = {5}}, {3}, {3}), ShapeError);
  EXPECT_THROW(dot({.axes = {1}}, {3, 4, 5}, {3}), ShapeError);
  EXPECT_THROW((void)Dot()(input({3})), ValueError);
}

TEST(TensorLayers, RejectInvalidOptions) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)Unary("sqr"); }),
            (Failure{"unknown_name", "operation"}));
  EXPECT_THROW(ClipByValue({.min = 1, .max = 0}), ValueError);
  EXPECT_THROW(ClipByValue({.max = INFINITY}), ValueError);
  EXPECT_THROW(ClipByValue({.min = NAN}), ValueError);
  // The lowest float is a valid bound.
  const Model bounded =
      single(ClipByValue({.min = std::numeric_limits<float>::lowest()}), {2});
  EXPECT_EQ(values(bounded.predict(tensor({1, 2}, {-INFINITY, 3}))),
            (std::vector<float>{std::numeric_limits<float>::lowest(), 3}));
  EXPECT_THROW(LocalResponseNormalization({.size = 4}), ValueError);
  EXPECT_THROW(LocalResponseNormalization({.size = 0}), ValueError);
  EXPECT_THROW(LocalResponseNormalization({.bias = 0}), ValueError);
  EXPECT_THROW((void)LocalResponseNormalization()(input({4, 3})), ShapeError);
  EXPECT_THROW((void)Divide()(input({3})), ValueError);
  EXPECT_THROW(Gather(), ValueError);
  EXPECT_THROW((void)Gather({.indices = {0}, .axis = 0})(input({3})),
               ValueError);
  EXPECT_THROW((void)Gather({.indices = {0}, .axis = 2})(input({3})),
               ShapeError);
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)Gather({.indices = {0, -4}})(input({3}));
            }),
            (Failure{"out_of_range", "indices"}));
}

}  // namespace
}  // namespace octet
