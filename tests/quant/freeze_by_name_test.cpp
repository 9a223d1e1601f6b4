// Layers of a quantized model are frozen by their float names.
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../support.h"

namespace octet::quant {
namespace {

TEST(SetTrainable, FindsLayersByTheirFloatNames) {
  const auto x = input({5, 4, 3});
  auto y = Conv2D({.filters = 4, .kernel_size = 3, .name = "block1_conv"})(x);
  y = BatchNormalization({.name = "block1_bn"})(y);
  Model model(
      x, Conv2D({.filters = 2, .kernel_size = 1, .name = "block2_conv"})(y));
  Model q = quantize_model(model);
  ASSERT_EQ(q.layer("quant_block1_conv").original_name(), "block1_conv");
  EXPECT_EQ(q.set_trainable("block1_*", false), 2);
  EXPECT_FALSE(q.layer("quant_block1_conv").trainable());
  EXPECT_FALSE(q.layer("block1_bn").trainable());
  EXPECT_TRUE(q.layer("quant_block2_conv").trainable());
  EXPECT_EQ(q.set_trainable("quant_*", true), 2);
}

TEST(SetTrainable, LayersFrozenBeforeQuantizationKeepTheirWeightScales) {
  const auto x = input({4}, "x");
  const auto y = Dense({.units = 4, .name = "frozen"})(x);
  Model model(x, Dense({.units = 2, .name = "free"})(y));
  model.set_trainable("frozen", false);
  Model q = quantize_model(model, {.weight = {.narrow_range = true,
                                              .per_channel = true,
                                              .rule = ScaleRule::learned}});
  calibrate(q, Dataset::unlabeled({{"x", noise({16, 4})}}));
  for (const PlacedQuantizer& weight : weight_quantizers(q)) {
    const bool frozen =
        weight.quantizer->name().find("frozen") != std::string::npos;
    EXPECT_EQ(weight.quantizer->frozen(), frozen);
    EXPECT_EQ(weight.quantizer->scale_parameter().requires_grad(), !frozen);
  }
}

}  // namespace
}  // namespace octet::quant
