// Initial weights of a model.
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

Model network(uint64_t seed) {
  const SymbolicTensor x = input({5, 7, 3});
  SymbolicTensor y = Conv2D({.filters = 4})(x);
  return Model(x, Dense({.units = 3})(Flatten()(y)), {.seed = seed});
}

TEST(Weights, AreEqualForEqualSeeds) {
  EXPECT_EQ(weight_bits(network(3)), weight_bits(network(3)));
  EXPECT_EQ(weight_bits(network(0)), weight_bits(network(0)));
}

TEST(Weights, DifferForAnotherSeedInEveryKernel) {
  const Model a = network(3);
  const Model b = network(4);
  for (const char* name : {"conv2d", "dense"}) {
    EXPECT_NE(bits(a.layer(name).parameter("kernel").variable),
              bits(b.layer(name).parameter("kernel").variable));
  }
}

TEST(Weights, DependOnNamesNotOnTheOrderOfCreation) {
  const auto build = [](bool other_first) {
    const SymbolicTensor x = input({6});
    const Dense a({.units = 5, .name = "a"});
    const Dense b({.units = 5, .name = "b"});
    SymbolicTensor ya, yb;
    if (other_first) {
      yb = b(x);
      ya = a(x);
    } else {
      ya = a(x);
      yb = b(x);
    }
    return Model({x}, {ya, yb});
  };
  const Model one = build(false);
  const Model two = build(true);
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(bits(one.layer(name).parameter("kernel").variable),
              bits(two.layer(name).parameter("kernel").variable));
  }
  EXPECT_NE(bits(one.layer("a").parameter("kernel").variable),
            bits(one.layer("b").parameter("kernel").variable));
}

TEST(Weights, DoNotDependOnTheNumberOfThreads) {
  const ThreadCountGuard restored;
  set_num_threads(1);
  const auto one = weight_bits(network(3));
  set_num_threads(2);
  EXPECT_EQ(weight_bits(network(3)), one);
}

TEST(Weights, AreInitializedOnceForSharedLayers) {
  const SymbolicTensor x = input({4});
  const Dense dense({.units = 3, .name = "d"});
  const SymbolicTensor y = dense(x);
  const Model first(x, y, {.seed = 1});
  const auto before = weight_bits(first);
  const Model second(x, ReLU()(y), {.seed = 2});
  EXPECT_EQ(weight_bits(first), before);
  EXPECT_EQ(weight_bits(second), before);
}

}  // namespace
}  // namespace octet
