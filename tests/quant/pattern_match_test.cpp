// Layers matched by the built-in patterns, and their points.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pattern_support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SymbolicTensor image() { return input({8, 6, 4}, "image"); }

std::vector<std::string> matches(const SymbolicTensor& x,
                                 const SymbolicTensor& y) {
  return outline(transform(Model(x, y)).matches);
}

TEST(TensorrtPatterns, AreLongestFirst) {
  const std::vector<Pattern> patterns = tensorrt_patterns();
  EXPECT_EQ(patterns.size(), 11u);
  for (size_t i = 1; i < patterns.size(); ++i) {
    EXPECT_GE(patterns[i - 1].steps.size(), patterns[i].steps.size())
        << patterns[i].name;
  }
  for (const Pattern& pattern : patterns) {
    EXPECT_FALSE(pattern.rationale.empty()) << pattern.name;
  }
}

TEST(TensorrtPatterns, MatchTheStemWithItsPads) {
  const SymbolicTensor x = input({16, 16, 3}, "image");
  SymbolicTensor y = ZeroPadding2D({.padding = {3, 3, 3, 3}, .name = "pad"})(x);
  y = Conv2D({.filters = 4, .kernel_size = {7, 7}, .name = "conv"})(y);
  y = relu(norm(y, "bn"), "relu");
  y = ZeroPadding2D({.padding = {1, 1, 1, 1}, .name = "pad2"})(y);
  y = MaxPooling2D({.pool_size = {3, 3}, .strides = {2, 2}, .name = "pool"})(y);
  const TransformResult result = transform(Model(x, conv(y, "next")));
  EXPECT_THAT(outline(result.matches),
              ElementsAre("StemConvBNReLUMaxPool pad conv bn relu pad2 pool",
                          "ConvBN next"));
  EXPECT_THAT(points(result.matches[0]), ElementsAre("INPUT pad input 0"));
}

TEST(TensorrtPatterns, MatchAStemOfSevenBySevenOnThreeChannelsOnly) {
  const auto pattern = [](int64_t window, int64_t channels) {
    const SymbolicTensor x = input({16, 16, channels}, "image");
    SymbolicTensor y = Conv2D({.filters = 4,
                               .kernel_size = {window, window},
                               .activation = "relu",
                               .name = "conv"})(x);
    y = MaxPooling2D({.name = "pool"})(y);
    return transform(Model(x, y)).matches.at(0).pattern;
  };
  EXPECT_EQ(pattern(7, 3), "StemConvBNReLUMaxPool");
  EXPECT_EQ(pattern(7, 1), "ConvBNReLU");
  EXPECT_EQ(pattern(5, 3), "ConvBNReLU");
}

TEST(TensorrtPatterns, MatchAConvolutionWithItsSuccessors) {
  const SymbolicTensor x = image();
  EXPECT_THAT(matches(x, conv(x, "c")), ElementsAre("ConvBN c"));
  EXPECT_THAT(matches(x, norm(conv(x, "c"), "n")), ElementsAre("ConvBN c n"));
  EXPECT_THAT(matches(x, relu(conv(x, "c"), "r")),
              ElementsAre("ConvBNReLU c r"));
  EXPECT_THAT(matches(x, relu(norm(conv(x, "c"), "n"), "r")),
              ElementsAre("ConvBNReLU c n r"));
  EXPECT_THAT(matches(x, DepthwiseConv2D({.name = "d"})(x)),
              ElementsAre("ConvBN d"));
}

TEST(TensorrtPatterns, MatchOnlyActivationsThatFuse) {
  const auto pattern = [](const std::string& function) {
    const SymbolicTensor x = image();
    return matches(x, Activation(function, "f")(conv(x, "c")));
  };
  for (const char* function : {"relu", "relu6", "leaky_relu", "elu", "gelu",
                               "silu", "hard_swish", "hard_sigmoid"}) {
    EXPECT_THAT(pattern(function), ElementsAre("ConvBNReLU c f")) << function;
  }
  for (const char* function : {"softmax", "sigmoid", "tanh"}) {
    EXPECT_THAT(pattern(function), ElementsAre("ConvBN c")) << function;
  }
  const SymbolicTensor x = image();
  EXPECT_THAT(matches(x, PReLU({.name = "f"})(conv(x, "c"))),
              ElementsAre("ConvBN c"));
  EXPECT_THAT(matches(x, LeakyReLU({.name = "f"})(conv(x, "c"))),
              ElementsAre("ConvBNReLU c f"));
}

TEST(TensorrtPatterns, MatchABuiltInActivation) {
  const SymbolicTensor x = image();
  const auto own = [&](const std::string& function) {
    return Conv2D({.filters = 4, .activation = function, .name = "c"})(x);
  };
  EXPECT_THAT(matches(x, own("relu")), ElementsAre("ConvBNReLU c"));
  EXPECT_THAT(matches(x, own("tanh")), ElementsAre("ConvBN c"));
  // Successors follow the activation and are not fused.
  EXPECT_THAT(matches(x, norm(own("relu"), "n")), ElementsAre("ConvBNReLU c"));
  EXPECT_THAT(matches(x, norm(own("tanh"), "n")), ElementsAre("ConvBN c"));
  EXPECT_THAT(matches(x, relu(own("tanh"), "r")), ElementsAre("ConvBN c"));
}

TEST(TensorrtPatterns, MatchThePadBeforeAConvolution) {
  const SymbolicTensor x = image();
  const SymbolicTensor padded =
      ZeroPadding2D({.padding = {1, 1, 1, 1}, .name = "pad"})(x);
  const TransformResult result =
      transform(Model(x, relu(conv(padded, "c"), "r")));
  EXPECT_THAT(outline(result.matches), ElementsAre("ConvBNReLU pad c r"));
  EXPECT_THAT(points(result.matches[0]), ElementsAre("INPUT pad input 0"));
  // Another consumer needs the padded image.
  const Model two({x}, {relu(conv(padded, "c"), "r"), relu(padded, "q")});
  EXPECT_THAT(outline(transform(two).matches), ElementsAre("ConvBNReLU c r"));
}

TEST(TensorrtPatterns, PlaceQdqOnTheOtherInputOfAnAdd) {
  const SymbolicTensor x = image();
  const SymbolicTensor shortcut = relu(x, "shortcut");
  const SymbolicTensor branch = norm(conv(shortcut, "c"), "n");
  const TransformResult result =
      transform(Model(x, relu(add(shortcut, branch, "sum"), "r")));
  EXPECT_THAT(outline(result.matches), ElementsAre("ConvBNAddReLU c n sum r"));
  EXPECT_THAT(points(result.matches[0]),
              ElementsAre("INPUT c input 0", "RESIDUAL_INPUT sum input 0"));
}

TEST(TensorrtPatterns, PlaceQdqOnAllOtherInputsOfAWideAdd) {
  const SymbolicTensor x = image();
  const SymbolicTensor a = relu(x, "a");
  const SymbolicTensor b = Activation("tanh", "b")(x);
  const TransformResult result =
      transform(Model(x, Add({.name = "sum"})({a, conv(a, "c"), b})));
  EXPECT_THAT(outline(result.matches), ElementsAre("ConvBNAdd c sum"));
  EXPECT_THAT(points(result.matches[0]),
              ElementsAre("INPUT c input 0", "RESIDUAL_INPUT sum input 0",
                          "RESIDUAL_INPUT sum input 2"));
}

/// A block of two branches with `left` and `right` consecutive convolutions.
std::vector<std::string> fork(int left, int right) {
  const SymbolicTensor x = image();
  const SymbolicTensor start = relu(x, "start");
  const auto row = [&](const std::string& name, int count) {
    SymbolicTensor y = start;
    for (int i = 1; i <= count; ++i) y = conv(y, fmt::format("{}{}", name, i));
    return y;
  };
  const SymbolicTensor a = row("left", left);
  const SymbolicTensor b = row("right", right);
  return matches(x, relu(add(a, b, "sum"), "r"));
}

TEST(TensorrtPatterns, MatchTheConvolutionOfTheLongerBranch) {
  EXPECT_THAT(fork(1, 2), ElementsAre("ConvBN left1", "ConvBN right1",
                                      "ConvBNAddReLU right2 sum r"));
  EXPECT_THAT(fork(2, 1),
              ElementsAre("ConvBN left1", "ConvBNAddReLU left2 sum r",
                          "ConvBN right1"));
}

TEST(TensorrtPatterns, MatchTheFirstOfEqualBranches) {
  EXPECT_THAT(fork(1, 1),
              ElementsAre("ConvBNAddReLU left1 sum r", "ConvBN right1"));
}

TEST(TensorrtPatterns, MeasureBranchesFromTheirLastCommonAncestor) {
  // "start" is 2 layers from "a" and 3 from "b"; the image, by way of "r4", is
  // 6 layers from "a" and 4 from "b".
  const SymbolicTensor x = image();
  SymbolicTensor y = x;
  for (int i = 1; i <= 4; ++i) y = relu(y, fmt::format("r{}", i));
  const SymbolicTensor start = relu(x, "start");
  const SymbolicTensor a = conv(Multiply({.name = "product"})({start, y}), "a");
  const SymbolicTensor b = conv(relu(relu(start, "b1"), "b2"), "b");
  EXPECT_THAT(matches(x, add(a, b, "sum")),
              ElementsAre("ConvBN a", "ConvBNAdd b sum"));
}

TEST(TensorrtPatterns, MeasureBranchesOfTwoInputsFromTheirInputs) {
  const SymbolicTensor x = image();
  const SymbolicTensor other = input({8, 6, 4}, "other");
  const SymbolicTensor flat = conv(x, "flat");
  const SymbolicTensor deep = conv(relu(other, "r"), "deep");
  const Model model({x, other}, {add(flat, deep, "sum")});
  EXPECT_THAT(outline(transform(model).matches),
              ElementsAre("ConvBN flat", "ConvBNAdd deep sum"));
}

TEST(TensorrtPatterns, MatchNoBranchWithOtherConsumers) {
  const SymbolicTensor x = image();
  const SymbolicTensor c = conv(x, "c");
  const Model model({x}, {add(relu(x, "r"), c, "sum"), c});
  EXPECT_THAT(outline(transform(model).matches), ElementsAre("ConvBN c"));
  // A convolution is added to a function of its own output.
  EXPECT_THAT(matches(x, add(c, relu(c, "f"), "sum")), ElementsAre("ConvBN c"));
  EXPECT_THAT(matches(x, add(c, c, "sum")), ElementsAre("ConvBN c"));
}

TEST(TensorrtPatterns, LookThroughDropout) {
  const SymbolicTensor x = image();
  SymbolicTensor y = Dropout({.rate = 0.5f, .name = "d1"})(conv(x, "c"));
  y = add(relu(x, "shortcut"), y, "sum");
  y = relu(SpatialDropout2D({.rate = 0.5f, .name = "d2"})(y), "r");
  const TransformResult result = transform(Model(x, y));
  EXPECT_THAT(outline(result.matches), ElementsAre("ConvBNAddReLU c sum r"));
  EXPECT_THAT(points(result.matches[0]),
              ElementsAre("INPUT c input 0", "RESIDUAL_INPUT sum input 0"));
}

TEST(TensorrtPatterns, SkipSmallProducts) {
  const auto dense = [](int64_t k, int64_t n, const std::string& function) {
    const SymbolicTensor x = input({k}, "x");
    return matches(x,
                   Dense({.units = n, .activation = function, .name = "d"})(x));
  };
  // 512*512/1024 = 256, 511*512/1023 = 255.75.
  EXPECT_THAT(dense(512, 512, "linear"), ElementsAre("Linear d"));
  EXPECT_THAT(dense(511, 512, "linear"), ElementsAre("skipped: Linear d"));
  EXPECT_THAT(dense(512, 512, "gelu"), ElementsAre("LinearReLU d"));
  EXPECT_THAT(dense(512, 511, "gelu"), ElementsAre("skipped: LinearReLU d"));
  EXPECT_THAT(dense(512, 512, "softmax"), ElementsAre("Linear d"));
}

TEST(TensorrtPatterns, MatchAttention) {
  const SymbolicTensor x = input({5, 8}, "x");
  SymbolicTensor y = LayerNormalization({.name = "norm"})(x);
  y = multi_head_attention(y, y, {.num_heads = 2, .key_dim = 4, .name = "a"});
  const TransformResult result = transform(Model(x, y));
  EXPECT_THAT(outline(result.matches),
              ElementsAre("LayerNorm norm", "MHAInProjection a/query",
                          "MHAInProjection a/key", "MHAInProjection a/value",
                          "ScaledDotProductAttention a/attention",
                          "skipped: Linear a/attention_output"));
  EXPECT_THAT(points(result.matches[0]), IsEmpty());
  EXPECT_THAT(points(result.matches[1]), ElementsAre("INPUT a/query input 0"));
  EXPECT_THAT(
      points(result.matches[4]),
      ElementsAre("QUERY a/attention input 0", "KEY a/attention input 1",
                  "VALUE a/attention input 2"));
}

TEST(TensorrtPatterns, PlaceQdqOnBothSidesOfAGlobalPool) {
  const SymbolicTensor x = image();
  const SymbolicTensor pool = GlobalAveragePooling2D({.name = "pool"})(x);
  const TransformResult result =
      transform(Model(x, Dense({.units = 512, .name = "d"})(pool)));
  EXPECT_EQ(outline(result.matches)[0], "AdaptiveAvgPool pool");
  EXPECT_THAT(points(result.matches[0]),
              ElementsAre("INPUT pool input 0", "OUTPUT pool output"));
  // Model outputs remain float.
  EXPECT_THAT(points(transform(Model(x, pool)).matches[0]),
              ElementsAre("INPUT pool input 0"));
}

TEST(TensorrtPatterns, MatchALayerCalledTwiceOnceAndAlone) {
  const SymbolicTensor x = image();
  const Conv2D shared(
      {.filters = 4, .padding = Padding::same, .name = "shared"});
  const SymbolicTensor padded =
      ZeroPadding2D({.padding = {1, 1, 1, 1}, .name = "pad"})(x);
  const SymbolicTensor y = relu(shared(padded), "r1");
  EXPECT_THAT(matches(x, relu(shared(y), "r2")), ElementsAre("ConvBN shared"));
}

TEST(TensorrtPatterns, ReportLayersWithWeightsWithoutAPattern) {
  const SymbolicTensor x = image();
  const Model model(x, Conv2DTranspose({.filters = 2, .name = "t"})(x));
  const TransformResult result = transform(model);
  EXPECT_THAT(result.matches, IsEmpty());
  EXPECT_THAT(result.report.skipped,
              ElementsAre(TransformReport::Skipped{
                  "", "t", "no pattern for class Conv2DTranspose"}));
}

}  // namespace
}  // namespace octet::quant
