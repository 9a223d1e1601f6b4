// Policy::tensorrt: linear layers, their pads, and common properties.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensorrt_support.h"

namespace octet::quant {
namespace {

const Shape kPolicyImage{7, 5, 3};

QuantizeOptions with(const TensorrtPolicy& policy) {
  return {.tensorrt = policy};
}

/// A model of a single layer named "x".
Model only(const LayerHandle& layer, const Shape& shape = kPolicyImage) {
  const SymbolicTensor x = input(shape, "image");
  return Model(x, layer(x));
}

TEST(TensorrtPolicy, QuantizesInputAndWeightsOfEveryLinearLayer) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  SymbolicTensor x = Conv2D({.filters = 4, .name = "conv"})(image);
  x = DepthwiseConv2D({.name = "depthwise"})(x);
  x = Conv2DTranspose({.filters = 2, .name = "transpose"})(x);
  x = SeparableConv2D({.filters = 6, .name = "separable"})(x);
  x = Dense({.units = 8, .name = "dense"})(Flatten()(x));
  const QdqPlan plan = plan_for(Model(image, x));
  EXPECT_EQ(edges(plan),
            (Strings{"conv 0 P01", "depthwise 0 P01", "transpose 0 P01",
                     "separable 0 P01", "dense 0 P01"}));
  EXPECT_EQ(weights(plan),
            (Strings{"conv kernel P01", "depthwise depthwise_kernel P01",
                     "transpose kernel P01", "separable depthwise_kernel P01",
                     "separable pointwise_kernel P01", "dense kernel P01"}));
  EXPECT_EQ(point_at(plan, "depthwise").reason,
            "data of DepthwiseConv2D, from conv");
}

TEST(TensorrtPolicy, PlacesNothingOnOutputs) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const SymbolicTensor x = conv(image, "a", 4);
  const Model model({image}, {x, relu(conv(x, "b"), "relu")});
  EXPECT_EQ(edges_for(model), (Strings{"a 0 P01", "b 0 P01"}));
}

TEST(TensorrtPolicy, SharesTheQuantizerOfATensorThroughDropout) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const SymbolicTensor x = relu(conv(image, "stem", 4), "relu");
  const Model model({image},
                    {conv(Dropout()(x), "a"), conv(x, "b"), conv(x, "c")});
  const QdqPlan plan = plan_for(model);
  for (const char* layer : {"a", "b", "c"}) {
    EXPECT_EQ(point_at(plan, layer).group, "relu");
  }
  EXPECT_EQ(count_pairs(plan, model),
            (PairCount{.activations = 4, .weights = 4, .shared = 6}));
}

TEST(TensorrtPolicy, SkipsFirstAndLastLayersOnRequest) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const SymbolicTensor other = input({7, 5, 2}, "other");
  const SymbolicTensor a = relu(conv(image, "first", 4), "relu");
  const SymbolicTensor b = Dropout()(conv(other, "first_too", 4));
  const SymbolicTensor middle = conv(Concatenate()({a, b}), "middle");
  const Model model({image, other}, {relu(conv(middle, "last"), "end"),
                                     conv(relu(middle, "on"), "last_too")});
  EXPECT_EQ(edges_for(model, with({.first_layer = false})),
            (Strings{"middle 0 P01", "last 0 P01", "last_too 0 P01"}));
  EXPECT_EQ(edges_for(model, with({.last_layer = false})),
            (Strings{"first 0 P01", "first_too 0 P01", "middle 0 P01"}));
  EXPECT_EQ(note_of(model, "first_too", with({.first_layer = false})),
            "A06: no linear predecessor; first_layer = false skips it");
  EXPECT_EQ(note_of(model, "last", with({.last_layer = false})),
            "A06: no linear successor; last_layer = false skips it");
  EXPECT_EQ(weights(plan_for(model, with({.first_layer = false}))).size(), 3u);
}

TEST(TensorrtPolicy, SkipsSmallDenseLayersOnRequest) {
  const auto edges_of = [](int64_t in, int64_t units) {
    const Model model = only(Dense({.units = units, .name = "d"}), {4, in});
    EXPECT_EQ(edges_for(model), (Strings{"d 0 P01"}));
    return edges_for(model, with({.skip_tiny_gemms = true}));
  };
  EXPECT_EQ(edges_of(16, 16), (Strings{"d 0 P01"}));
  EXPECT_EQ(edges_of(15, 64), Strings{});
  EXPECT_EQ(edges_of(64, 15), Strings{});
  const Model narrow_conv =
      only(Conv2D({.filters = 5, .kernel_size = {1, 1}, .name = "c"}));
  EXPECT_EQ(edges_for(narrow_conv, with({.skip_tiny_gemms = true})),
            (Strings{"c 0 P01"}));
  EXPECT_EQ(note_of(only(Dense({.units = 10, .name = "d"}), {64}), "d",
                    with({.skip_tiny_gemms = true})),
            "P25: 64 features in, 10 out, and skip_tiny_gemms");
}

TEST(TensorrtPolicy, SkipsDepthwiseConvolutionsOnRequest) {
  const TensorrtPolicy skip{.skip_depthwise = true};
  const auto kept = [&](const LayerHandle& layer) {
    const Model model = only(layer, {7, 5, 4});
    EXPECT_EQ(edges_for(model), (Strings{"x 0 P01"}));
    return edges_for(model, with(skip)) == Strings{"x 0 P01"};
  };
  EXPECT_FALSE(kept(DepthwiseConv2D({.name = "x"})));
  EXPECT_FALSE(kept(DepthwiseConv2D({.depth_multiplier = 3, .name = "x"})));
  EXPECT_FALSE(kept(Conv2D({.filters = 8, .groups = 4, .name = "x"})));
  EXPECT_TRUE(kept(Conv2D({.filters = 8, .groups = 2, .name = "x"})));
  EXPECT_TRUE(kept(SeparableConv2D({.filters = 8, .name = "x"})));
  EXPECT_EQ(note_of(only(DepthwiseConv2D({.name = "x"})), "x", with(skip)),
            "P26: one filter per channel, and skip_depthwise");
}

struct NarrowCase {
  const char* what;
  int64_t in;
  int64_t out;
  Size2 window{3, 3};
  int64_t groups = 1;
  bool first = false;
  bool kept = false;
};

class NarrowConvolutions : public ::testing::TestWithParam<NarrowCase> {};

TEST_P(NarrowConvolutions, AreSkippedOnRequestButForModelOptsExceptions) {
  const NarrowCase& c = GetParam();
  const SymbolicTensor image = input({9, 8, c.in}, "image");
  const SymbolicTensor x = c.first ? image : conv(image, "before");
  const Model model(x.node == image.node ? x : image,
                    Conv2D({.filters = c.out,
                            .kernel_size = c.window,
                            .groups = c.groups,
                            .name = "x"})(x));
  const Strings edges = edges_for(model, with({.skip_narrow_convs = true}));
  EXPECT_EQ(std::ranges::find(edges, "x 0 P01") != edges.end(), c.kept)
      << c.what;
}

// Source: rule P24.
INSTANTIATE_TEST_SUITE_P(
    TensorrtPolicy, NarrowConvolutions,
    ::testing::Values(
        NarrowCase{"wide", 16, 17, {3, 1}, 1, false, true},
        NarrowCase{"neither side divides by 8", 15, 17, {3, 3}, 1, false},
        NarrowCase{"out divides by 8", 15, 24, {3, 3}, 1, false, true},
        NarrowCase{"in divides by 8", 16, 10, {3, 3}, 1, false, true},
        NarrowCase{"no side of 16", 8, 8, {3, 3}, 1, false},
        NarrowCase{"no side of 16, first layer", 3, 8, {3, 3}, 1, true, true},
        NarrowCase{"first layer, not square", 3, 8, {3, 1}, 1, true},
        NarrowCase{"first layer, 10 filters", 3, 10, {3, 3}, 1, true},
        NarrowCase{"grouped, out divides by 8", 4, 8, {3, 3}, 2, false, true},
        NarrowCase{"grouped, small window", 4, 8, {3, 1}, 2, false},
        NarrowCase{"grouped, 12 filters", 4, 12, {3, 3}, 2, false}));

TEST(TensorrtPolicy, ChecksBothConvolutionsOfASeparableForNarrowness) {
  const auto kept = [](int64_t in, int64_t multiplier, int64_t out) {
    const Model model =
        only(SeparableConv2D(
                 {.filters = out, .depth_multiplier = multiplier, .name = "x"}),
             {7, 5, in});
    return !edges_for(model, with({.skip_narrow_convs = true})).empty();
  };
  EXPECT_TRUE(kept(16, 1, 16));
  EXPECT_TRUE(kept(8, 2, 16));    // [8 -> 16 in groups], [16 -> 16]
  EXPECT_FALSE(kept(12, 1, 16));  // 12 depthwise outputs
  EXPECT_EQ(note_of(only(DepthwiseConv2D({.name = "x"})), "x",
                    with({.skip_narrow_convs = true})),
            "P24: 3 channels in, 3 out, and skip_narrow_convs");
}

// Pads (P20).

SymbolicTensor pad(const SymbolicTensor& x, const std::string& name) {
  return ZeroPadding2D({.padding = {1, 2, 0, 1}, .name = name})(x);
}

TEST(TensorrtPads, HaveTheQdqOfTheirConvolution) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const Model model(image, conv(Dropout()(pad(image, "pad")), "conv", 4));
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(edges(plan), (Strings{"pad 0 P20"}));
  EXPECT_EQ(weights(plan), (Strings{"conv kernel P01"}));
  EXPECT_EQ(point_at(plan, "pad").reason,
            "before the pad, which fuses with conv; from image");
  EXPECT_EQ(point_at(plan, "pad").group, "image");
}

TEST(TensorrtPads, PassQdqToAPadBeforeThem) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const Model model(image, conv(pad(pad(image, "outer"), "inner"), "conv", 4));
  EXPECT_EQ(edges_for(model), (Strings{"outer 0 P20"}));
}

TEST(TensorrtPads, TakeQdqFromAllTheirConsumersOrNone) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const SymbolicTensor x = pad(image, "pad");
  const SymbolicTensor a = conv(x, "a", 4);
  const SymbolicTensor b = conv(x, "b", 6);
  const Strings at_pad{"pad 0 P20"};
  const Strings at_convs{"a 0 P01", "b 0 P01"};
  const Model model({image}, {a, b});
  EXPECT_EQ(edges_for(model), at_pad);
  EXPECT_EQ(point_at(plan_for(model), "pad").reason,
            "before the pad, which fuses with a and b; from image");
  EXPECT_EQ(edges_for(Model({image}, {a, b, relu(x, "float")})), at_convs);
  EXPECT_EQ(edges_for(Model({image}, {a, b, x})), at_convs);
}

TEST(TensorrtPads, KeepTheUsersPosition) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const SymbolicTensor x = pad(image, "pad");
  const Model model({image}, {conv(x, "a", 4), conv(x, "b", 6)});
  QuantizeOptions options;
  options.spec.add("a");
  EXPECT_EQ(edges_for(model, options), (Strings{"a 0 user", "b 0 P01"}));
  EXPECT_EQ(edges_for(model, without({"a"})), (Strings{"b 0 P01"}));
  EXPECT_EQ(edges_for(model, without({"a", "b"})), Strings{});
}

TEST(TensorrtPads, ShareTheQuantizerOfTheirTensor) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const SymbolicTensor x = relu(conv(image, "stem", 4), "relu");
  const Model model({image}, {conv(pad(x, "pad"), "a"), conv(x, "b")});
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(point_at(plan, "pad").group, "relu");
  EXPECT_EQ(point_at(plan, "b").group, "relu");
}

TEST(TensorrtPads, OfSharedConvolutionsHaveNone) {
  const SymbolicTensor image = input({7, 5, 4}, "image");
  const Conv2D shared({.filters = 4, .kernel_size = {1, 1}, .name = "conv"});
  const Model model(image, shared(pad(shared(image), "pad")));
  EXPECT_EQ(edges_for(model), (Strings{"conv 0 P01"}));
}

TEST(TensorrtPads, PreserveTheModelsOutputs) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const Model model(image, conv(pad(image, "pad"), "conv", 4));
  const auto answer = [&](const QuantizeOptions& options) {
    Model quantized = quantize_model(model, options);
    calibrate(quantized, samples(20, kPolicyImage),
              {.method = Calibration::max});
    return values(quantized.predict(noise({3, 7, 5, 3}, 8)));
  };
  // Zero is always representable; one model sums quantized values, the other
  // dequantized ones.
  EXPECT_THAT(answer({}),
              ::testing::Pointwise(::testing::FloatNear(1e-6f),
                                   answer({.policy = Policy::toolkit})));
}

// Common properties.

TEST(TensorrtPolicy, IgnoresLayersThatCannotBeQuantized) {
  const Model model = only(ReLU({.name = "relu"}));
  EXPECT_TRUE(place(model).plan.points.empty());
  EXPECT_TRUE(place(model).notes.empty());
}

TEST(TensorrtPolicy, IsIgnoredInPartialMode) {
  const SymbolicTensor image = input(kPolicyImage, "image");
  const SymbolicTensor x = conv(image, "a", 4);
  const Model model(image, add({x, conv(relu(x, "relu"), "b")}));
  QuantizeOptions options{.mode = QuantizationMode::partial};
  options.spec.add("b");
  const Placement placement = place(model, options);
  EXPECT_EQ(edges(placement.plan), (Strings{"b 0 user"}));
  EXPECT_TRUE(placement.notes.empty());
}

TEST(TensorrtPolicy, QuantizesTheCommonSitesOfASharedLayersCalls) {
  const SymbolicTensor image = input({7, 5, 4}, "image");
  const Add shared({.name = "add"});
  const SymbolicTensor x = conv(image, "stem");
  const auto joined = [&](const SymbolicTensor& a, const std::string& name) {
    return std::vector{a, conv(relu(a, name + "_relu"), name)};
  };
  const SymbolicTensor first = shared(joined(x, "a"));
  const SymbolicTensor alike = shared(joined(first, "b"));
  EXPECT_EQ(
      edges_for(Model(image, conv(alike, "end"))),
      (Strings{"stem 0 P01", "a 0 P01", "add 0 P08", "b 0 P01", "end 0 P01"}));
  auto turned = joined(first, "b");
  std::ranges::reverse(turned);
  const Model model(image, conv(shared(turned), "end"));
  EXPECT_EQ(edges_for(model),
            (Strings{"stem 0 P01", "a 0 P01", "b 0 P01", "end 0 P01"}));
  EXPECT_EQ(note_of(model, "add"),
            "P04: called 2 times, and no site is common to all calls");
}

TEST(TensorrtPolicy, IsFastOnDeepGraphs) {
  const SymbolicTensor image = input({4, 3, 2}, "image");
  SymbolicTensor x = image;
  for (int i = 0; i < 4000; ++i) x = ReLU()(x);
  SymbolicTensor wide = x;
  // Each Add doubles the number of paths.
  for (int i = 0; i < 200; ++i) wide = Add()({ReLU()(wide), ReLU()(wide)});
  const SymbolicTensor far = Add({.name = "far"})(
      {conv(x, "short"), conv(conv(wide, "long_1"), "long_2")});
  const Model model(image, conv(far, "end"));
  const QdqPlan plan = plan_for(model);
  EXPECT_EQ(point_at(plan, "far", 0).rule, "P07");
  EXPECT_EQ(count_pairs(plan, model).weights, 4);
}

}  // namespace
}  // namespace octet::quant
