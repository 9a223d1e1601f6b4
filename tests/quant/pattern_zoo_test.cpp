// The pattern route on networks of the zoo: numbers of matches, activations,
// weights and pairs, with reasons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pattern_support.h"

namespace octet::quant {
namespace {

using Counts = std::map<std::string, int64_t>;

struct ExpectedMatches {
  Counts applied;
  size_t activations;
  size_t weights;
  int64_t shared;
  Counts skipped = {};
};

/// Small images that leave more than one pixel before the global pool, with the
/// network's full weights.
void expect(const std::string& network, const Shape& input,
            const ExpectedMatches& expected) {
  const Model model = zoo::make(network, {.input = input});
  const TransformResult result = transform(model);
  EXPECT_EQ(applied(result.report), expected.applied) << network;
  EXPECT_EQ(skipped(result.report), expected.skipped) << network;
  const QdqPlan plan = plan_of_matches(result.model, result.matches);
  const PairCount pairs = count_pairs(plan, result.model);
  EXPECT_EQ(pairs.activations, static_cast<int64_t>(expected.activations));
  EXPECT_EQ(pairs.shared, expected.shared) << network;
  const Model quantized = insert_qdq(result.model, result.matches);
  EXPECT_EQ(activation_quantizers(quantized).size(), expected.activations)
      << network;
  EXPECT_EQ(weight_quantizers(quantized).size(), expected.weights) << network;
}

TEST(PatternZoo, ResNet50) {
  // 53 convolutions: the stem; in each of 16 blocks two with ReLU and one that
  // ends in the Add; 4 projections. Stubs: 53 + 16 Adds + 2 of the pool + 1.
  // Pairs: 71 of the 72 edges are those of the toolkit's ResNet50 (109 pairs
  // with 54 weights); the pool's output is the Dense layer's input.
  expect("resnet50", {64, 64, 3},
         {.applied = {{"StemConvBNReLUMaxPool", 1},
                      {"ConvBNAddReLU", 16},
                      {"ConvBNReLU", 32},
                      {"ConvBN", 4},
                      {"AdaptiveAvgPool", 1},
                      {"Linear", 1}},
          .activations = 72,
          .weights = 54,
          .shared = 109});
}

TEST(PatternZoo, ResNet18) {
  // Two convolutions per block, 8 blocks, 3 projections. Stubs: 20
  // convolutions, 8 Adds, 2 of the pool, 1. Pairs: 21 weights; the image; 8
  // inputs of blocks; 8 between a block's convolutions; 3 projections; input
  // and output of the pool.
  expect("resnet18", {64, 64, 3},
         {.applied = {{"StemConvBNReLUMaxPool", 1},
                      {"ConvBNAddReLU", 8},
                      {"ConvBNReLU", 8},
                      {"ConvBN", 3},
                      {"AdaptiveAvgPool", 1},
                      {"Linear", 1}},
          .activations = 31,
          .weights = 21,
          .shared = 43});
}

TEST(PatternZoo, MobileNetV2) {
  // 17 blocks of expansion (except the first), depthwise and projection, with a
  // convolution before and after. 10 of the 17 projections end in an Add
  // without activation.
  expect("mobilenet_v2", {64, 64, 3},
         {.applied = {{"ConvBNReLU", 1 + 16 + 17 + 1},
                      {"ConvBNAdd", 10},
                      {"ConvBN", 7},
                      {"AdaptiveAvgPool", 1},
                      {"Linear", 1}},
          .activations = 52 + 10 + 2 + 1,
          .weights = 53,
          .shared = 52 + 1 + 1 + 53});
}

TEST(PatternZoo, UNet) {
  // Six convolutions down, two at the bottom, six up, and the last. Transposed
  // convolutions remain float. Convolutions have separate input tensors.
  expect("unet", {16, 16, 3},
         {.applied = {{"ConvBNReLU", 14}, {"ConvBN", 1}},
          .activations = 15,
          .weights = 15,
          .shared = 30});
}

TEST(PatternZoo, ViTTiny) {
  // Width 192: only products that feed attention are quantized, as
  // 192*768/(192+768) is 153.6. Pairs: per block one for the three projections
  // and three for attention; the patches; the weights.
  expect("vit_tiny", {32, 32, 3},
         {.applied = {{"ConvBN", 1},
                      {"LayerNorm", 25},
                      {"MHAInProjection", 36},
                      {"ScaledDotProductAttention", 12}},
          .activations = 1 + 36 + 36,
          .weights = 1 + 36,
          .shared = 12 * 4 + 1 + 37,
          .skipped = {{"LinearReLU", 12}, {"Linear", 12 + 12 + 1}}});
}

TEST(PatternZoo, ResNet8EndsInAConvolutionOfOnePixel) {
  // Its pool leaves one pixel, so Flatten and Dense are converted.
  const Model model = zoo::resnet8();
  const TransformResult result = transform(model);
  EXPECT_EQ(applied(result.report),
            (Counts{{"ConvBNAddReLU", 3}, {"ConvBNReLU", 4}, {"ConvBN", 3}}));
  EXPECT_EQ(result.model.layer("dense").class_name(), "Conv2D");
}

TEST(PatternZoo, NetworksAreMatchedDeterministically) {
  for (const char* name :
       {"lenet", "resnet8", "resnet20", "ds_cnn", "mobilenet_v1_025", "unet",
        "frodo", "sam", "merry", "pippin"}) {
    const Model model = zoo::make(name);
    const TransformResult result = transform(model);
    EXPECT_FALSE(result.matches.empty()) << name;
    const TransformResult again = transform(model.clone());
    EXPECT_EQ(again.matches, result.matches) << name;
    EXPECT_EQ(again.report, result.report) << name;
    std::set<std::string> layers;
    for (const PatternMatch& match : result.matches) {
      for (const std::string& layer : match.layers) {
        EXPECT_TRUE(layers.insert(layer).second) << name << " " << layer;
      }
    }
  }
}

}  // namespace
}  // namespace octet::quant
