#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ContainsRegex;
using ::testing::EndsWith;

TEST(Summary, ListsShapesParametersAndMultiplyAdds) {
  const SymbolicTensor x = input({28, 28, 1}, "image");
  SymbolicTensor y = Conv2D({.filters = 8, .padding = Padding::same})(x);
  y = MaxPooling2D()(ReLU()(BatchNormalization()(y)));
  const Model model(x, Dense({.units = 10})(Flatten()(y)));
  const std::string text = model.summary();
  EXPECT_THAT(text, ContainsRegex("layer +class +output +parameters +"
                                  "mult-adds\n"));
  EXPECT_THAT(text, ContainsRegex("\nimage +InputLayer +.N,28,28,1. +0 +0\n"));
  // 28 * 28 * 8 * 9 multiply-adds.
  EXPECT_THAT(text,
              ContainsRegex("\nconv2d +Conv2D +.N,28,28,8. +80 +56,448\n"));
  EXPECT_THAT(text, ContainsRegex("\nbatch_normalization +BatchNormalization "
                                  "+.N,28,28,8. +32 +0\n"));
  EXPECT_THAT(text, ContainsRegex("\nmax_pooling2d +MaxPooling2D "
                                  "+.N,14,14,8. +0 +0\n"));
  EXPECT_THAT(text, ContainsRegex("\ndense +Dense +.N,10. +15,690 +15,680\n"));
  EXPECT_THAT(text, ContainsRegex("\ntotal +15,802 +72,128\n"));
  EXPECT_THAT(text, EndsWith("\n15,786 trainable parameters, 16 statistics\n"));
}

TEST(Summary, CountsSharedWeightsOnceAndTheirWorkTwice) {
  const SymbolicTensor x = input({4});
  const Dense shared({.units = 4});
  const Model model(x, shared(shared(x)));
  const std::string text = model.summary();
  EXPECT_THAT(text, ContainsRegex("\ndense +Dense +.N,4. +20 +16\n"
                                  "dense +Dense +.N,4. +0 +16\n"));
  EXPECT_THAT(text, ContainsRegex("\ntotal +20 +32\n"));
}

TEST(Summary, IsAvailableAsValues) {
  const SymbolicTensor x = input({4});
  const Dense shared({.units = 4});
  const SymbolicTensor y = BatchNormalization()(shared(shared(x)));
  const std::vector<NodeSize> sizes = Model(x, y).sizes();
  ASSERT_EQ(sizes.size(), 4u);
  EXPECT_EQ(sizes[0].parameters, 0);
  EXPECT_EQ(sizes[1].parameters, 20);
  EXPECT_EQ(sizes[1].trainable, 20);
  EXPECT_EQ(sizes[2].parameters, 0);
  EXPECT_EQ(sizes[2].multiply_adds, 16);
  EXPECT_EQ(sizes[3].parameters, 16);
  EXPECT_EQ(sizes[3].trainable, 8);
}

TEST(Summary, GroupsDigitsByThousands) {
  const SymbolicTensor x = input({999});
  const Model model(x, Dense({.units = 1001, .use_bias = false})(x));
  EXPECT_THAT(model.summary(), ContainsRegex("\ntotal +999,999 +999,999\n"));
}

TEST(Summary, AlignsItsColumns) {
  const SymbolicTensor x = input({4}, "a_name_longer_than_any_other");
  const std::string text = Model(x, ReLU()(x)).summary();
  size_t width = 0;
  size_t lines = 0;
  for (size_t at = 0; at < text.rfind('\n', text.size() - 2);) {
    const size_t end = text.find('\n', at);
    if (width == 0) width = end - at;
    EXPECT_EQ(end - at, width);
    at = end + 1;
    ++lines;
  }
  EXPECT_EQ(lines, 6u);  // heading, rule, two layers, rule, total
}

TEST(Summary, ShowsActivationsUnlessTheClassImpliesThem) {
  const SymbolicTensor x = input({6, 5, 3});
  SymbolicTensor y = Conv2D({.filters = 2, .activation = "relu6"})(x);
  y = Activation({.activation = "tanh"})(ReLU()(y));
  const std::string text = Model(x, y).summary();
  EXPECT_THAT(text, ContainsRegex("\nconv2d +Conv2D, relu6 +"));
  EXPECT_THAT(text, ContainsRegex("\nre_lu +ReLU +"));
  EXPECT_THAT(text, ContainsRegex("\nactivation +Activation, tanh +"));
}

TEST(Summary, ShowsInputsUnlessTheGraphIsAChain) {
  const SymbolicTensor x = input({4}, "x");
  const SymbolicTensor y = Dense({.units = 4, .name = "d"})(x);
  EXPECT_THAT(Model(x, y).summary(), ContainsRegex("mult-adds\n"));
  const std::string text = Model(x, Add({.name = "sum"})({y, x})).summary();
  EXPECT_THAT(text, ContainsRegex("mult-adds +inputs\n"));
  EXPECT_THAT(text, ContainsRegex("\nd +Dense +.N,4. +20 +16 +x\n"));
  EXPECT_THAT(text, ContainsRegex("\nsum +Add +.N,4. +0 +0 +d, x\n"));
}

TEST(Summary, ShowsFrozenLayers) {
  const SymbolicTensor x = input({4}, "x");
  SymbolicTensor y = Dense({.units = 3, .name = "body"})(x);
  y = Dense({.units = 2, .name = "head"})(y);
  Model model(x, y);
  EXPECT_THAT(model.summary(), ContainsRegex("mult-adds\n"));
  model.set_trainable("body", false);
  const std::string text = model.summary();
  EXPECT_THAT(text, ContainsRegex("mult-adds +training\n"));
  EXPECT_THAT(text, ContainsRegex("\nbody +Dense +.N,3. +15 +12 +frozen\n"));
  EXPECT_THAT(text, ContainsRegex("\nhead +Dense +.N,2. +8 +6\n"));
  EXPECT_THAT(text,
              EndsWith("\n8 trainable parameters, 0 statistics, 15 frozen\n"));
}

}  // namespace
}  // namespace octet
