// Layers of a quantized model are frozen by the names that they had before.
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

namespace octet::quant {
namespace {

TEST(SetTrainable, KnowsLayersByTheirNamesWithoutAWrapper) {
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

}  // namespace
}  // namespace octet::quant
