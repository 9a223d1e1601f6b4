// Parts of models: outputs of layers, trainable variables, layers by pattern,
// and symbolic arithmetic.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "support.h"

namespace octet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;

std::vector<float> numbers(const Tensor& x) {
  const auto data = x.f32();
  return {data.begin(), data.end()};
}

Model small_model() {
  const auto x = input({5, 4, 3});
  auto y = Conv2D({.filters = 4, .kernel_size = 3, .name = "block1_conv"})(x);
  y = BatchNormalization({.name = "block1_bn"})(y);
  y = Conv2D({.filters = 2, .kernel_size = 1, .name = "block2_conv"})(y);
  y = Flatten()(y);
  return Model(x, Dense({.units = 6, .name = "logits"})(y), {.seed = 3});
}

TEST(ModelOutput, BuildsAFeatureExtractorWithTheSameWeights) {
  Model model = small_model();
  Model features(model.inputs()[0], model.output("block2_conv"));
  const Tensor x = noise({2, 5, 4, 3});
  const Tensor before = features.predict(x);
  EXPECT_EQ(before.shape(), Shape({2, 3, 2, 2}));
  model.layer("block2_conv")
      .parameter("bias")
      .variable.assign(Tensor::full({2}, 1));
  const Tensor after = features.predict(x);
  for (size_t i = 0; i < before.f32().size(); ++i) {
    EXPECT_EQ(after.f32()[i], before.f32()[i] + 1);
  }
}

TEST(ModelOutput, ReplacesTheHeadForTransferLearning) {
  Model model = small_model();
  Model transfer(model.inputs()[0],
                 Dense({.units = 9, .name = "head"})(
                     Flatten({.name = "flat"})(model.output("block2_conv"))));
  EXPECT_EQ(transfer.predict(noise({1, 5, 4, 3})).shape(), Shape({1, 9}));
  EXPECT_EQ(transfer.layer("block1_conv").parameters()[0].variable.id(),
            model.layer("block1_conv").parameters()[0].variable.id());
}

TEST(ModelOutput, FindsLayersByAliases) {
  const auto x = input({4});
  const auto y = Dense({.units = 3, .name = "logits"})(x);
  const Model model(
      x, ReLU({.name = "scores"})(y),
      {.aliases = {
           {"relu", "scores"}, {"logits", "scores"}, {"lost", "none"}}});
  EXPECT_EQ(model.output("relu").node, model.output("scores").node);
  // Layers take precedence over aliases.
  EXPECT_EQ(model.output("logits").shape(), y.shape());
  EXPECT_NE(model.output("logits").node, model.output("scores").node);
  EXPECT_THROW((void)model.output("lost"), NotFoundError);
  const Model copy = model.clone();
  EXPECT_EQ(copy.output("relu").node, copy.output("scores").node);
}

TEST(ModelOutput, RejectsLayersWithoutASingleOutput) {
  const auto x = input({4});
  const Dense shared({.units = 4, .name = "shared"});
  const Model twice(x, shared(shared(x)));
  EXPECT_THROW((void)twice.output("shared"), ValueError);
  EXPECT_THROW((void)twice.output("shred"), NotFoundError);
}

TEST(TrainableVariables, ExcludeFrozenLayers) {
  Model model = small_model();
  // Two kernels and biases, gamma and beta, the dense layer's two.
  EXPECT_EQ(model.trainable_variables().size(), 8u);
  EXPECT_EQ(model.set_trainable("block1_*", false), 2);
  EXPECT_EQ(model.trainable_variables().size(), 4u);
  EXPECT_FALSE(model.layer("block1_bn").trainable());
  EXPECT_EQ(model.set_trainable("*_conv", true), 2);
  EXPECT_EQ(model.trainable_variables().size(), 6u);
  EXPECT_EQ(model.set_trainable("block?_conv", false), 2);
  EXPECT_EQ(model.set_trainable("logits", false), 1);
  EXPECT_TRUE(model.trainable_variables().empty());
  model.set_trainable(true);
  EXPECT_EQ(model.trainable_variables().size(), 8u);
}

TEST(TrainableVariables, FreezeBySetsOfCharacters) {
  const auto x = input({4}, "x");
  auto h = x;
  for (const char* name : {"b0_fc", "b5_fc", "b10_fc", "b[0]", "bz_fc"}) {
    h = Dense({.units = 4, .name = name})(h);
  }
  Model model(x, h);
  EXPECT_EQ(model.set_trainable("b[0-9]_*", false), 2);
  EXPECT_FALSE(model.layer("b5_fc").trainable());
  EXPECT_TRUE(model.layer("b10_fc").trainable());
  EXPECT_EQ(model.set_trainable("b[0-9][0-9]_fc", false), 1);
  EXPECT_EQ(model.set_trainable("b[z5]_*", true), 2);
  EXPECT_EQ(model.set_trainable("b[!0-9]_*", false), 1);
  // A name with brackets matches itself; an open bracket is a character.
  EXPECT_EQ(model.set_trainable("b[0]", false), 1);
  EXPECT_EQ(model.set_trainable("b[*", false), 1);
  EXPECT_THROW(model.set_trainable("b[a-c]_*", false), NotFoundError);
}

TEST(TrainableVariables, RejectAPatternWithoutMatches) {
  Model model = small_model();
  for (const char* pattern : {"block3_*", "conv", "", "block1_con"}) {
    try {
      model.set_trainable(pattern, false);
      FAIL() << pattern;
    } catch (const NotFoundError& error) {
      EXPECT_THAT(quoted_names(error.message()), Contains(StartsWith("block")))
          << pattern;
    }
  }
  EXPECT_EQ(model.trainable_variables().size(), 8u);
}

TEST(TrainableVariables, RejectMatchesWithoutParameters) {
  const auto x = input({4}, "x");
  Model model(x, ReLU({.name = "act"})(Dense({.units = 2, .name = "d"})(x)));
  EXPECT_THROW(model.set_trainable("act*", false), NotFoundError);
  EXPECT_EQ(model.set_trainable("*", false), 1);
}

// Initial weights depend on layer names only, whichever operand a compiler
// evaluates first.
TEST(SymbolicOperators, PreserveGivenNames) {
  const auto x = input({4}, "x");
  const auto a = Dense({.units = 3})(x);
  const auto b = Dense({.units = 3})(x);
  const Model model(x, a - b);
  EXPECT_EQ(model.outputs()[0].node->inputs[0].node->layer->name(), "dense");
  EXPECT_EQ(model.outputs()[0].node->inputs[1].node->layer->name(), "dense_1");
}

TEST(SymbolicOperators, BuildLayers) {
  const auto x = input({3}, "x");
  const auto y = input({3}, "y");
  const auto z = -(x + 2 * y) * (x - 1) / 4 - (1 - y) * 0.5 + (2 + x) - (y - x);
  const Model model({x, y}, {z});
  const std::vector<Tensor> in{Tensor::of<float>({1, 3}, {1, 2, 3}),
                               Tensor::of<float>({1, 3}, {4, 0, -2})};
  const auto expected = [](float a, float b) {
    return -(a + 2 * b) * (a - 1) / 4 - (1 - b) * 0.5f + (2 + a) - (b - a);
  };
  EXPECT_THAT(numbers(model.predict(in)[0]),
              ElementsAre(expected(1, 4), expected(2, 0), expected(3, -2)));
  EXPECT_THROW((void)(x / 0), ValueError);
}

}  // namespace
}  // namespace octet
