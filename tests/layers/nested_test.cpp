// Nested models, their shared parameters, and Sequential.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

Model encoder(std::string name = "encoder") {
  const SymbolicTensor x = input({3});
  return Model(x, Dense({.units = 2, .activation = "relu"})(x),
               {.name = std::move(name)});
}

TEST(NestedModel, ItsLayersArePrefixedWithItsName) {
  Model inner = encoder();
  const SymbolicTensor x = input({3}, "x");
  const Model outer(x, Dense({.units = 1})(inner(x)));
  EXPECT_THAT(names(outer), ElementsAre("x", "encoder/dense", "dense"));
  EXPECT_NO_THROW(inner.layer("dense"));
}

TEST(NestedModel, ComputesTheSameAndSharesItsParameters) {
  Model inner = encoder();
  const SymbolicTensor x = input({3});
  const Model outer(x, inner(x));
  const Tensor data = noise({5, 3});
  EXPECT_EQ(bits(outer.predict(data)), bits(inner.predict(data)));
  shake(outer);
  EXPECT_EQ(bits(outer.predict(data)), bits(inner.predict(data)));
  inner.set_trainable(false);
  EXPECT_FALSE(outer.layer("encoder/dense").trainable());
}

/// Returns whether training updates the statistics of `bn`.
bool moves_statistics(Model& model, const std::string& bn) {
  const Variable& mean = model.layer(bn).parameter("moving_mean").variable;
  const auto before = bits(mean);
  (void)model(Variable(noise({8, 3})), Mode::training).value();
  return bits(mean) != before;
}

TEST(NestedModel, FrozenStatisticsAreSharedWithTheOuterModel) {
  const SymbolicTensor a = input({3});
  Model inner(a, BatchNormalization({.name = "bn"})(a), {.name = "inner"});
  const SymbolicTensor x = input({3});
  Model outer(x, inner(x));
  EXPECT_TRUE(moves_statistics(outer, "inner/bn"));

  inner.layer("bn").freeze_statistics(true);
  EXPECT_TRUE(outer.layer("inner/bn").statistics_frozen());
  EXPECT_FALSE(moves_statistics(outer, "inner/bn"));
  outer.layer("inner/bn").freeze_statistics(false);
  EXPECT_FALSE(inner.layer("bn").statistics_frozen());
  EXPECT_TRUE(moves_statistics(inner, "bn"));

  // A model called after freezing, and a clone, which has separate state.
  inner.layer("bn").freeze_statistics(true);
  const SymbolicTensor z = input({3});
  Model later(z, inner(z));
  EXPECT_FALSE(moves_statistics(later, "inner/bn"));
  Model copy = outer.clone();
  EXPECT_FALSE(moves_statistics(copy, "inner/bn"));
  inner.layer("bn").freeze_statistics(false);
  EXPECT_TRUE(copy.layer("inner/bn").statistics_frozen());
}

TEST(NestedModel, CalledTwiceAccumulatesGradients) {
  Model inner = encoder();
  const SymbolicTensor a = input({3});
  const SymbolicTensor b = input({3});
  const Model siamese({a, b}, {inner(a), inner(b)});
  EXPECT_EQ(siamese.layers().size(), 3u);
  EXPECT_EQ(siamese.parameter_count(), inner.parameter_count());
}

TEST(NestedModel, IsClonedWithItsOuterModel) {
  Model inner = encoder();
  const SymbolicTensor x = input({3});
  const Model outer(
      x,
      inner(inner(input({3})).shape() == Shape{-1, 2} ? x : SymbolicTensor()));
  const Model copy = outer.clone();
  const Tensor data = noise({5, 3});
  const auto before = bits(copy.predict(data));
  shake(inner);
  EXPECT_EQ(bits(copy.predict(data)), before);
}

/// A layer called directly and through a nested model.
struct SharedParameters {
  Dense direct{{.units = 3,
                .kernel_initializer = constant_value(2),
                .kernel_regularizer = {.l2 = 0.5f},
                .name = "d"}};
  SymbolicTensor x = input({3}, "x");
  Model inner{x, direct(x), {.name = "inner"}};
  SymbolicTensor z = input({3}, "z");
  Model outer{z, inner(direct(z))};

  static bool are_one(const Model& model, std::string_view a,
                      std::string_view b) {
    return model.layer(a).parameter("kernel").variable.id() ==
           model.layer(b).parameter("kernel").variable.id();
  }
};

TEST(NestedModel, CountsSharedParametersOnce) {
  const SharedParameters shared;
  EXPECT_TRUE(SharedParameters::are_one(shared.outer, "d", "inner/d"));
  EXPECT_EQ(shared.outer.parameter_count(), 12);
  EXPECT_EQ(shared.outer.parameters().size(), 2u);
  int64_t listed = 0;
  for (const NodeSize& size : shared.outer.sizes()) listed += size.parameters;
  EXPECT_EQ(listed, 12);
  EXPECT_EQ(shared.outer.regularization_loss().value().item(), 0.5f * 9 * 4);
}

TEST(NestedModel, CloneOfTheOuterModelKeepsParametersShared) {
  SharedParameters shared;
  Model copy = shared.outer.clone();
  EXPECT_TRUE(SharedParameters::are_one(copy, "d", "inner/d"));
  EXPECT_EQ(copy.parameter_count(), 12);
  shared.inner.set_trainable(false);
  EXPECT_TRUE(copy.layer("inner/d").trainable());
  copy.layer("d").set_trainable(false);
  EXPECT_FALSE(copy.layer("inner/d").trainable());
  shake(copy);
  const Tensor data = noise({5, 3});
  const Model again = copy.clone();
  EXPECT_EQ(bits(again.predict(data)), bits(copy.predict(data)));
  EXPECT_FALSE(again.layer("inner/d").trainable());
}

TEST(NestedModel, RejectsTwoOfTheSameName) {
  Model left = encoder("half");
  Model right = encoder("half");
  const SymbolicTensor x = input({3});
  EXPECT_EQ(failure_of<ValueError>([&] {
              Model({x}, {left(x), right(x)});
            }),
            (Failure{"duplicate_name", "model"}));
}

TEST(NestedModel, RejectsShapesAndCountsThatDoNotFit) {
  Model inner = encoder();
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)inner(input({4})); }),
            (Failure{"shape_mismatch", "input 'input_layer'"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)inner(std::vector{input({3}), input({3})});
            }),
            (Failure{"count_mismatch", "model 'encoder'"}));
}

TEST(Sequential, IsAChainOfLayers) {
  const Sequential model({4}, {Dense({.units = 3}), ReLU(),
                               Dense({.units = 2, .name = "logits"})});
  EXPECT_THAT(names(model),
              ElementsAre("input_layer", "dense", "re_lu", "logits"));
  EXPECT_EQ(model.outputs()[0].shape(), (Shape{-1, 2}));
}

TEST(Trainable, FrozenLayersHaveNoGradientsAndKeepStatistics) {
  Sequential model({4}, {Dense({.units = 3, .name = "a"}),
                         BatchNormalization({.name = "bn"}),
                         Dense({.units = 2, .name = "b"})});
  model.layer("a").set_trainable(false);
  model.layer("bn").set_trainable(false);
  const auto before = bits(model.layer("bn").parameter("moving_mean").variable);
  const Variable y = model(Variable(noise({8, 4})));
  softmax_cross_entropy(y, Tensor::of<int64_t>({8}, {0, 1, 0, 1, 0, 1, 0, 1}))
      .backward();
  EXPECT_TRUE(model.layer("a").parameter("kernel").variable.grad().empty());
  EXPECT_TRUE(model.layer("bn").parameter("gamma").variable.grad().empty());
  EXPECT_FALSE(model.layer("b").parameter("kernel").variable.grad().empty());
  EXPECT_EQ(bits(model.layer("bn").parameter("moving_mean").variable), before);
  EXPECT_THAT(model.summary(),
              EndsWith("\n8 trainable parameters, 6 statistics, 21 frozen\n"));
  const Model copy = model.clone();
  EXPECT_FALSE(copy.layer("bn").trainable());
  EXPECT_TRUE(copy.layer("b").trainable());
}

TEST(RegularizationLoss, RejectsNegativeFactors) {
  EXPECT_EQ(
      failure_of<ValueError>([] {
        (void)Dense({.units = 1, .kernel_regularizer = {.l2 = -1}})(input({3}));
      }),
      (Failure{"out_of_range", "kernel_regularizer"}));
}

TEST(RegularizationLoss, IsTheSumOfTheRegularizersAndReachesTheGradients) {
  const Sequential model(
      {2}, {Dense({.units = 1,
                   .use_bias = false,
                   .kernel_initializer = constant_value(3),
                   .kernel_regularizer = {.l1 = 0.5f, .l2 = 0.25f}})});
  const Variable sum = model.regularization_loss();
  EXPECT_EQ(sum.value().item(), 0.5f * 6 + 0.25f * 18);
  sum.backward();
  EXPECT_EQ(values(model.layer("dense").parameter("kernel").variable.grad()),
            (std::vector<float>{2, 2}));
  EXPECT_FALSE(encoder().regularization_loss());
}

}  // namespace
}  // namespace octet
