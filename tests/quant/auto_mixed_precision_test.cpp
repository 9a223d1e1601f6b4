// Mixed precision: fewer weight bits for the layers that tolerate them best.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/post_training.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;

Dataset inputs(int64_t n) {
  return Dataset(noise({n, 6}), Tensor::zeros({n}, DType::i64));
}

Model three_layers() {
  const SymbolicTensor x = input({6}, "x");
  SymbolicTensor y = Dense({.units = 32, .name = "first"})(x);
  y = Dense({.units = 32, .name = "second"})(ReLU()(y));
  return Model(x, Dense({.units = 3, .name = "third"})(ReLU()(y)));
}

TEST(AutoMixed, MeetsItsBudget) {
  const Model model = three_layers();  // 192, 1024 and 96 weights
  for (const double mean : {4.0, 4.5, 5.0, 6.0, 7.9, 8.0}) {
    const MixedPrecision mixed =
        auto_mixed_precision(model, inputs(64), {.mean_bits = mean});
    EXPECT_LE(mixed.mean_bits, mean);
    double bits = 0;
    for (const MixedPrecisionLayer& layer : mixed.layers) {
      bits += static_cast<double>(layer.bits * layer.weights);
    }
    EXPECT_DOUBLE_EQ(mixed.mean_bits, bits / 1312);
  }
  EXPECT_EQ(
      auto_mixed_precision(model, inputs(64), {.mean_bits = 4}).bits().size(),
      3u);
  EXPECT_TRUE(
      auto_mixed_precision(model, inputs(64), {.mean_bits = 8}).bits().empty());
}

// A layer without influence on the outputs is narrowed first.
TEST(AutoMixed, NarrowsTheLayerWithLeastNoiseFirst) {
  Model model = three_layers();
  const SymbolicTensor x = model.inputs()[0];
  const SymbolicTensor y = model.outputs()[0];
  const SymbolicTensor silent =
      Rescaling({.scale = {1e-4f}})(Dense({.units = 3, .name = "silent"})(x));
  Model joined(x, Add()({y, silent}));
  const MixedPrecision mixed =
      auto_mixed_precision(joined, inputs(64), {.mean_bits = 7.99});
  ASSERT_EQ(mixed.bits().size(), 1u);
  EXPECT_EQ(mixed.bits()[0].layer, "silent");
  EXPECT_THAT(numbers_in(mixed.to_string()), Contains(7.95));
}

TEST(AutoMixed, RefusesWidthsOutOfRange) {
  const Model model = three_layers();
  const Failure out_of_range{"out_of_range", "auto_mixed_precision"};
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)auto_mixed_precision(model, inputs(8), {.mean_bits = 3});
            }),
            out_of_range);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)auto_mixed_precision(model, inputs(8), {.narrow = 8});
            }),
            out_of_range);
}

TEST(AutoMixed, MeetsABudgetOfBytes) {
  const Model model = three_layers();
  // 192 and 96 weights in 8 bits, 1024 in 4.
  const MixedPrecision mixed =
      auto_mixed_precision(model, inputs(64), {.bytes = 192 + 512 + 96});
  EXPECT_EQ(mixed.bytes, 192 + 512 + 96);
  ASSERT_EQ(mixed.bits().size(), 1u);
  EXPECT_EQ(mixed.bits()[0].layer, "second");
  EXPECT_THAT(numbers_in(mixed.to_string()), Contains(800));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)auto_mixed_precision(model, inputs(8), {.bytes = 655});
            }),
            (Failure{"invalid_value", "auto_mixed_precision"}));
}

TEST(AutoMixed, MeetsABudgetOfLatency) {
  const Model model = three_layers();
  // The largest layer gains nothing by fewer bits; the last becomes slower.
  const std::vector<LayerLatency> table = {
      {"first", 3, 1}, {"second", 5, 5}, {"third", 1, 2}};
  const MixedPrecision mixed = auto_mixed_precision(
      model, inputs(64), {.latency = 7.5, .latencies = table});
  EXPECT_EQ(mixed.latency, 7);
  ASSERT_EQ(mixed.bits().size(), 1u);
  EXPECT_EQ(mixed.bits()[0].layer, "first");
  EXPECT_EQ(auto_mixed_precision(model, inputs(64),
                                 {.latency = 9, .latencies = table})
                .bits()
                .size(),
            0u);
  const auto refusal = [&](std::vector<LayerLatency> latencies) {
    return failure_of<Error>([&] {
      (void)auto_mixed_precision(
          model, inputs(8), {.latency = 6, .latencies = std::move(latencies)});
    });
  };
  EXPECT_EQ(refusal(table), (Failure{"invalid_value", "auto_mixed_precision"}));
  EXPECT_EQ(refusal({}), (Failure{"missing_value", "auto_mixed_precision"}));
  EXPECT_EQ(refusal({{"frist", 1, 1}}),
            (Failure{"unknown_name", "auto_mixed_precision"}));
  EXPECT_EQ(refusal({{"first", 1, 1}}),
            (Failure{"count_mismatch", "auto_mixed_precision"}));
  EXPECT_EQ(refusal({{"first", std::nan(""), 1}}),
            (Failure{"out_of_range", "auto_mixed_precision"}));
}

// Inputs of a narrow layer are narrow, too, unless other layers need them.
TEST(AutoMixed, NarrowsTheInputsOfNarrowLayers) {
  const Model model = three_layers();
  const MixedPrecisionOptions options{.bytes = 192 + 512 + 96,
                                      .narrow_activations = 5};
  const MixedPrecision mixed = auto_mixed_precision(model, inputs(64), options);
  ASSERT_EQ(mixed.bits().size(), 1u);
  EXPECT_EQ(mixed.bits()[0].layer, "second");
  EXPECT_EQ(mixed.bits()[0].activation, 5);
  EXPECT_EQ(mixed.layers[0].activation_bits, 8);
  EXPECT_EQ(mixed.layers[1].activation_bits, 5);
  // The loss exceeds that of the weights alone.
  const MixedPrecision weights =
      auto_mixed_precision(model, inputs(64), {.bytes = 192 + 512 + 96});
  EXPECT_LT(mixed.layers[1].sqnr, weights.layers[1].sqnr);
  QuantizeOptions quantize;
  quantize.bits = mixed.bits();
  int64_t narrow = 0;
  for (const auto& q : quantizers(quantize_model(model, quantize))) {
    narrow += q->config().bits == 5;
  }
  EXPECT_EQ(narrow, 1);
}

// A wide layer, or an addition, shares the input of a narrow layer.
TEST(AutoMixed, LeavesTensorsAsWideAsTheirWidestConsumer) {
  const SymbolicTensor x = input({6}, "x");
  const SymbolicTensor h = ReLU()(Dense({.units = 32, .name = "first"})(x));
  const SymbolicTensor a = Dense({.units = 64, .name = "large"})(h);
  const SymbolicTensor b = Dense({.units = 2, .name = "small"})(h);
  const Model model({x}, {a, b});
  const Dataset data = inputs(64);
  const MixedPrecision one = auto_mixed_precision(
      model, data, {.bytes = 192 + 1024 + 64, .narrow_activations = 4});
  ASSERT_EQ(one.bits().size(), 1u);
  EXPECT_EQ(one.bits()[0].layer, "large");
  EXPECT_FALSE(one.bits()[0].activation.has_value());
  const MixedPrecision all = auto_mixed_precision(
      model, data, {.mean_bits = 4, .narrow_activations = 4});
  ASSERT_EQ(all.bits().size(), 3u);
  for (const LayerBits& each : all.bits()) EXPECT_EQ(each.activation, 4);
  const SymbolicTensor c = Dense({.units = 32, .name = "inner"})(h);
  const Model residual(x, Dense({.units = 2, .name = "last"})(Add()({h, c})));
  const MixedPrecision added = auto_mixed_precision(
      residual, data, {.mean_bits = 4, .narrow_activations = 4});
  // The input of "inner" also bypasses it.
  EXPECT_EQ(added.layers[1].layer, "inner");
  EXPECT_EQ(added.layers[1].bits, 4);
  EXPECT_EQ(added.layers[1].activation_bits, 8);
  EXPECT_EQ(added.layers[2].activation_bits, 4);
  for (const int bits : {1, 9}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)auto_mixed_precision(model, data,
                                           {.narrow_activations = bits});
              }),
              (Failure{"out_of_range", "auto_mixed_precision"}));
  }
}

/// Returns the negated mean square difference from another model's outputs.
std::function<double(const Model&, const Dataset&)> closeness(const Model& to) {
  return [&to](const Model& model, const Dataset& data) {
    const Tensor x = data.batch(0, data.size()).inputs[0];
    const Tensor a = model.predict(x), b = to.predict(x);
    double sum = 0;
    for (size_t i = 0; i < a.f32().size(); ++i) {
      sum -= std::pow(double{a.f32()[i]} - b.f32()[i], 2);
    }
    return sum / static_cast<double>(a.size());
  };
}

TEST(AutoMixed, MeetsAScoreLoss) {
  const Model model = three_layers();
  SensitivityOptions judge{.score = closeness(model)};
  size_t before = 0;
  for (const double loss : {0.0, 1e-4, 1e-2, 1e9}) {
    const MixedPrecision mixed = auto_mixed_precision(
        model, inputs(64), {.score_loss = loss, .sensitivity = judge});
    ASSERT_TRUE(mixed.score && mixed.wide_score);
    EXPECT_GE(*mixed.score, *mixed.wide_score - loss);
    EXPECT_GE(mixed.bits().size(), before);
    before = mixed.bits().size();
  }
  EXPECT_EQ(before, 3u);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)auto_mixed_precision(model, inputs(8), {.score_loss = -1});
            }),
            (Failure{"out_of_range", "auto_mixed_precision"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)auto_mixed_precision(model, inputs(8), {.score_loss = 0.1});
            }),
            (Failure{"missing_value", "auto_mixed_precision"}));
}

TEST(AutoMixed, RefusesTwoBudgets) {
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)auto_mixed_precision(three_layers(), inputs(8),
                                         {.mean_bits = 5, .bytes = 1000});
            }),
            (Failure{"conflicting_options", "auto_mixed_precision"}));
}

}  // namespace
}  // namespace octet::quant
