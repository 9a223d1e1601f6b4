// Changes by the built-in conversions, with unchanged outputs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pattern_support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// "FlattenDenseToConv1x1 fc" for each change.
std::vector<std::string> changes(const TransformReport& report) {
  std::vector<std::string> result;
  for (const TransformReport::Converted& each : report.conversions) {
    result.push_back(each.conversion + " " + each.layer);
  }
  return result;
}

/// Returns names and classes of the remaining layers of y computed from x,
/// after checking that the outputs are equal: bit for bit, unless sums may be
/// reordered.
std::vector<std::string> converted(const SymbolicTensor& x,
                                   const SymbolicTensor& y,
                                   float tolerance = 0) {
  const Model model(x, y);
  shake(model);
  const auto weights = weight_bits(model);
  const TransformResult result = transform(model);
  EXPECT_EQ(weight_bits(model), weights);
  EXPECT_THAT(
      result.report.skipped,
      ::testing::Not(::testing::Contains(::testing::Field(
          &TransformReport::Skipped::name, ::testing::HasSubstr("Remove")))));
  std::vector<int64_t> dims{5};
  for (int axis = 1; axis < x.shape().rank(); ++axis) {
    dims.push_back(x.shape()[axis]);
  }
  const Tensor data = noise(Shape(dims));
  const std::vector<float> before = values(model.predict(data));
  const std::vector<float> after = values(result.model.predict(data));
  EXPECT_THAT(after,
              ::testing::Pointwise(::testing::FloatNear(tolerance), before));
  std::vector<std::string> layers;
  for (const auto& layer : result.model.layers()) {
    layers.push_back(layer->name() + " " + layer->class_name());
  }
  return layers;
}

// Sums of 8 products in another order.
constexpr float kRounding = 1e-5f;

SymbolicTensor pixel() { return input({1, 1, 8}, "x"); }

TEST(Conversions, ConvertADenseLayerOnOnePixelToAConvolution) {
  const SymbolicTensor x = pixel();
  const SymbolicTensor y =
      Dense({.units = 3, .name = "fc"})(Flatten({.name = "flat"})(x));
  EXPECT_THAT(converted(x, y, kRounding),
              ElementsAre("x InputLayer", "fc Conv2D", "flat Flatten"));
}

TEST(Conversions, KeepTheOptionsOfTheDenseLayer) {
  const SymbolicTensor x = pixel();
  const SymbolicTensor y = Dense({.units = 3,
                                  .activation = "softmax",
                                  .use_bias = false,
                                  .kernel_regularizer = {.l2 = 0.5f},
                                  .name = "fc"})(Flatten({.name = "flat"})(x));
  EXPECT_THAT(converted(x, y, kRounding),
              ElementsAre("x InputLayer", "fc Conv2D", "flat Flatten"));
  Model model(x, y);
  model.layer("fc").set_trainable(false);
  const Model result = transform(model).model;
  EXPECT_FALSE(result.layer("fc").trainable());
  EXPECT_EQ(result.layer("fc").parameters().size(), 1u);
  EXPECT_EQ(result.layer("fc").parameter("kernel").regularizer.l2, 0.5f);
}

TEST(Conversions, MoveLayersBetweenFlattenAndDense) {
  const SymbolicTensor x = pixel();
  SymbolicTensor y = Flatten({.name = "flat"})(x);
  y = Dropout({.rate = 0.5f, .name = "drop"})(relu(y, "relu"));
  y = Dense({.units = 3, .name = "fc"})(y);
  EXPECT_THAT(converted(x, y, kRounding),
              ElementsAre("x InputLayer", "relu ReLU", "drop Dropout",
                          "fc Conv2D", "flat Flatten"));
}

TEST(Conversions, RepeatToAFixedPoint) {
  const SymbolicTensor x = pixel();
  SymbolicTensor y = Flatten({.name = "flat"})(x);
  y = Dense({.units = 5, .activation = "relu", .name = "fc1"})(y);
  y = Dense({.units = 4, .name = "fc2"})(Activation("linear", "same")(y));
  y = Dense({.units = 3, .name = "fc3"})(y);
  EXPECT_THAT(converted(x, y, kRounding),
              ElementsAre("x InputLayer", "fc1 Conv2D", "fc2 Conv2D",
                          "fc3 Conv2D", "flat Flatten"));
  EXPECT_THAT(
      changes(transform(Model(x, y)).report),
      ElementsAre("RemoveIdentity same", "FlattenDenseToConv1x1 fc1",
                  "FlattenDenseToConv1x1 fc2", "FlattenDenseToConv1x1 fc3"));
}

TEST(Conversions, TreatAReshapeAsAFlatten) {
  const SymbolicTensor x = pixel();
  const SymbolicTensor y = Dense({.units = 3, .name = "fc"})(
      Reshape({.target_shape = {8}, .name = "row"})(x));
  EXPECT_THAT(converted(x, y, kRounding),
              ElementsAre("x InputLayer", "fc Conv2D", "row Flatten"));
}

TEST(Conversions, KeepADenseLayerOnSeveralPixels) {
  const SymbolicTensor x = input({2, 1, 4}, "x");
  const SymbolicTensor y =
      Dense({.units = 3, .name = "fc"})(Flatten({.name = "flat"})(x));
  EXPECT_THAT(changes(transform(Model(x, y)).report), IsEmpty());
}

TEST(Conversions, KeepSharedLayersAndTensors) {
  const SymbolicTensor x = pixel();
  const SymbolicTensor flat = Flatten({.name = "flat"})(x);
  const Dense shared({.units = 8, .name = "shared"});
  const Model read_twice({x}, {relu(shared(flat), "r"), relu(flat, "r2")});
  EXPECT_THAT(changes(transform(read_twice).report), IsEmpty());
  const Model called_twice(x, shared(shared(flat)));
  EXPECT_THAT(changes(transform(called_twice).report), IsEmpty());
  // Several outputs are named after their layers.
  const Model two({x}, {Dense({.units = 2, .name = "head"})(flat), x});
  EXPECT_THAT(changes(transform(two).report), IsEmpty());
}

TEST(Conversions, KeepOperationsOnRows) {
  const SymbolicTensor x = pixel();
  const SymbolicTensor flat = Flatten({.name = "flat"})(x);
  const auto unchanged = [&](const SymbolicTensor& y) {
    const Model model(x, Dense({.units = 2, .name = "fc"})(y));
    return changes(transform(model).report).empty();
  };
  EXPECT_TRUE(unchanged(BatchNormalization()(flat)));
  EXPECT_TRUE(unchanged(PReLU()(flat)));
  EXPECT_TRUE(unchanged(Softmax()(flat)));
  EXPECT_TRUE(unchanged(
      Dropout({.rate = 0.5f, .noise_shape = {Shape::kAnySize, 1}})(flat)));
}

TEST(Conversions, RemoveNoOpLayers) {
  const SymbolicTensor x = input({4, 6, 3}, "x");
  SymbolicTensor y = Activation("linear", "linear")(x);
  y = Dropout({.rate = 0, .name = "dropout"})(y);
  y = SpatialDropout2D({.rate = 0, .name = "spatial"})(y);
  y = GaussianNoise({.stddev = 0, .name = "gaussian"})(y);
  y = ActivityRegularization({.name = "activity"})(y);
  y = ZeroPadding2D({.padding = {0, 0, 0, 0}, .name = "pad"})(y);
  y = Cropping2D({.cropping = {0, 0, 0, 0}, .name = "crop"})(y);
  y = UpSampling2D({.size = {1, 1}, .name = "up"})(y);
  y = Reshape({.target_shape = {4, 6, 3}, .name = "reshape"})(y);
  y = Permute({.dims = {1, 2, 3}, .name = "permute"})(y);
  y = Add({.name = "add"})({y});
  y = Concatenate({.name = "concat"})({y});
  y = MaxPooling2D({.pool_size = {1, 1}, .name = "max"})(y);
  y = AveragePooling2D({.pool_size = {1, 1}, .name = "mean"})(y);
  y = Flatten({.name = "second"})(Flatten({.name = "first"})(y));
  EXPECT_THAT(converted(x, y), ElementsAre("x InputLayer", "first Flatten"));
}

TEST(Conversions, KeepSimilarLayersWithAnEffect) {
  const SymbolicTensor x = input({4, 4, 3}, "x");
  SymbolicTensor y = Activation("tanh", "tanh")(x);
  y = Dropout({.rate = 0.1f, .name = "dropout"})(y);
  y = GaussianNoise({.stddev = 0.1f, .name = "gaussian"})(y);
  y = ActivityRegularization({.l2 = 0.1f, .name = "activity"})(y);
  y = ZeroPadding2D({.padding = {0, 1, 0, 1}, .name = "pad"})(y);
  y = Cropping2D({.cropping = {1, 0, 1, 0}, .name = "crop"})(y);
  y = UpSampling2D({.size = {1, 2}, .name = "up"})(y);
  y = Reshape({.target_shape = {8, 4, 3}, .name = "reshape"})(y);
  y = Permute({.dims = {2, 1, 3}, .name = "permute"})(y);
  y = MaxPooling2D({.pool_size = {1, 1}, .strides = {2, 2}, .name = "max"})(y);
  y = AveragePooling2D(
      {.pool_size = {3, 3}, .strides = {1, 1}, .padding = Padding::same})(y);
  y = GlobalAveragePooling2D({.name = "global"})(y);
  EXPECT_THAT(changes(transform(Model(x, y)).report), IsEmpty());
}

TEST(Conversions, KeepAPermutationOfEqualAxes) {
  const SymbolicTensor x = input({4, 4, 3}, "x");
  EXPECT_THAT(converted(x, Permute({.dims = {2, 1, 3}, .name = "permute"})(x)),
              ElementsAre("x InputLayer", "permute Permute"));
}

TEST(Conversions, ReplaceTheGlobalPoolOfOnePixel) {
  const SymbolicTensor x = pixel();
  EXPECT_THAT(converted(x, GlobalAveragePooling2D({.name = "pool"})(x)),
              ElementsAre("x InputLayer", "pool Flatten"));
  EXPECT_THAT(converted(x, GlobalMaxPooling2D({.name = "pool"})(x)),
              ElementsAre("x InputLayer", "pool Flatten"));
  EXPECT_THAT(converted(x, GlobalAveragePooling2D({.keepdims = true})(x)),
              ElementsAre("x InputLayer"));
  // ... whose Flatten then precedes a Dense layer.
  const SymbolicTensor y = Dense({.units = 3, .name = "fc"})(
      GlobalAveragePooling2D({.name = "pool"})(x));
  EXPECT_THAT(converted(x, y, kRounding),
              ElementsAre("x InputLayer", "fc Conv2D", "pool Flatten"));
}

TEST(Conversions, KeepTheNamesOfSeveralOutputs) {
  const SymbolicTensor x = input({3}, "x");
  const SymbolicTensor y = Dense({.units = 2, .name = "d"})(x);
  const Model two({x}, {Activation("linear", "a")(y),
                        Activation("linear", "b")(relu(y, "r"))});
  const TransformResult result = transform(two);
  EXPECT_THAT(changes(result.report), IsEmpty());
  const Model one(x, Activation("linear", "a")(y));
  EXPECT_THAT(changes(transform(one).report), ElementsAre("RemoveIdentity a"));
}

TEST(Conversions, WorkOnNetworksOfTheZoo) {
  for (const char* name : {"resnet8", "ds_cnn", "mobilenet_v1_025"}) {
    const Model model = zoo::make(name);
    shake(model);
    const TransformResult result = transform(model);
    std::vector<int64_t> dims{3};
    for (const int64_t dim : zoo::entry(name).input.dims()) {
      dims.push_back(dim);
    }
    const Tensor x = noise(Shape(dims));
    const Tensor before = model.predict(x);
    const Tensor after = result.model.predict(x);
    // Sums of at most 256 products in another order.
    const float tolerance = 1e-5f * absmax(before);
    EXPECT_THAT(
        values(after),
        ::testing::Pointwise(::testing::FloatNear(tolerance), values(before)))
        << name;
  }
}

}  // namespace
}  // namespace octet::quant
