// Weights of fewer bits where they cost least.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/auto_mixed.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::HasSubstr;

Dataset inputs(int64_t n) {
  return Dataset(noise({n, 6}), Tensor::zeros({n}, DType::i64));
}

Model three_layers() {
  const SymbolicTensor x = input({6}, "x");
  SymbolicTensor y = Dense({.units = 32, .name = "first"})(x);
  y = Dense({.units = 32, .name = "second"})(ReLU()(y));
  return Model(x, Dense({.units = 3, .name = "third"})(ReLU()(y)));
}

TEST(AutoMixed, KeepsToItsBudget) {
  const Model model = three_layers();  // 192, 1024 and 96 weights
  for (const double mean : {4.0, 4.5, 5.0, 6.0, 7.9, 8.0}) {
    const MixedPrecision mixed =
        auto_mixed(model, inputs(64), {.mean_bits = mean});
    EXPECT_LE(mixed.mean_bits, mean);
    double bits = 0;
    for (const MixedLayer& layer : mixed.layers) {
      bits += static_cast<double>(layer.bits * layer.weights);
    }
    EXPECT_DOUBLE_EQ(mixed.mean_bits, bits / 1312);
  }
  EXPECT_EQ(auto_mixed(model, inputs(64), {.mean_bits = 4}).bits().size(), 3u);
  EXPECT_TRUE(auto_mixed(model, inputs(64), {.mean_bits = 8}).bits().empty());
}

// One that adds to the outputs what is as good as nothing goes first.
TEST(AutoMixed, NarrowsWhatCostsLeast) {
  Model model = three_layers();
  const SymbolicTensor x = model.inputs()[0];
  const SymbolicTensor y = model.outputs()[0];
  const SymbolicTensor silent =
      Rescaling({.scale = {1e-4f}})(Dense({.units = 3, .name = "silent"})(x));
  Model joined(x, Add()({y, silent}));
  const MixedPrecision mixed =
      auto_mixed(joined, inputs(64), {.mean_bits = 7.99});
  ASSERT_EQ(mixed.bits().size(), 1u);
  EXPECT_EQ(mixed.bits()[0].layer, "silent");
  EXPECT_THAT(mixed.to_string(), HasSubstr("7.95 bits a weight"));
}

TEST(AutoMixed, SaysWhatCanBeHad) {
  const Model model = three_layers();
  EXPECT_THAT(error_of<ValueError>([&] {
                (void)auto_mixed(model, inputs(8), {.mean_bits = 3});
              }),
              HasSubstr("expected mean_bits in [4,8], got 3"));
  EXPECT_THAT(error_of<ValueError>(
                  [&] { (void)auto_mixed(model, inputs(8), {.narrow = 8}); }),
              HasSubstr("narrow in [2,7]"));
}

}  // namespace
}  // namespace octet::quant
