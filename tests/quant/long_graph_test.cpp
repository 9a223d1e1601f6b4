// Quantization of large graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

constexpr int kBlocks = 3000;

// 60,000 nodes: blocks of a linear layer with a foldable normalization, and
// Adds, most of whose inputs get Q/DQ.
Model network() {
  const SymbolicTensor x = input({2}, "x");
  SymbolicTensor y = x;
  for (int i = 0; i < kBlocks; ++i) {
    y = ReLU()(BatchNormalization()(Dense({.units = 2})(y)));
    for (int k = 0; k < 17; ++k) y = Add()({y, x});
  }
  return Model(x, Dense({.units = 2})(y));
}

TEST(LongGraph, IsPlacedCountedAppliedFoldedAndRestored) {
  const Model model = network();
  const Placement placement = place(model);
  const PairCount count = count_pairs(placement.plan, model);
  EXPECT_EQ(count.weights, kBlocks + 1);
  EXPECT_GT(count.activations, 30 * kBlocks);
  const Model quantized = quantize_model(model);
  EXPECT_EQ(plan_of(quantized), placement.plan);
  EXPECT_EQ(diff(placement.plan, plan_of(quantized)), "");
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(folded.nodes().size(), model.nodes().size() - kBlocks);
  const ModelState state = state_of(quantized);
  Model again = initial_model(state);
  restore(again, state);
  EXPECT_EQ(plan_of(again), placement.plan);
}

TEST(LongGraph, IsPlacedByACaseAndASpecOfAllLayers) {
  const Model model = network();
  QuantizationSpec spec;
  for (const auto& layer : model.layers()) {
    if (layer->class_name() == "Dense") spec.add(layer->name());
  }
  const Placement placement = place(
      model,
      {.spec = spec, .cases = {ResNetV1QDQCase()}, .policy = Policy::toolkit});
  EXPECT_EQ(count_pairs(placement.plan, model).weights, kBlocks + 1);
}

}  // namespace
}  // namespace octet::quant
