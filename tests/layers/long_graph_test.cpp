// Graphs of many nodes: no recursion along them, and no quadratic time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/model.h>

#include "support.h"

namespace octet {
namespace {

constexpr int kNodes = 60000;

Model chain() {
  const SymbolicTensor x = input({4}, "x");
  SymbolicTensor y = x;
  for (int i = 0; i < kNodes; ++i) y = ReLU()(y);
  return Model(x, y);
}

TEST(LongGraph, IsReleasedWithoutItsModel) {
  SymbolicTensor y = input({4});
  for (int i = 0; i < kNodes; ++i) y = ReLU()(y);
  y = {};
  // Two consumers of each tensor.
  y = input({4});
  for (int i = 0; i < kNodes; ++i) y = Add()({y, y});
  y = {};
}

TEST(LongGraph, CanBeClonedSummarizedAndSerialized) {
  const Model model = chain();
  const Tensor x = noise({2, 4});
  const auto expected = bits(model.predict(x));
  const Model copy = model.clone();
  EXPECT_EQ(bits(copy.predict(x)), expected);
  EXPECT_EQ(copy.summary(), model.summary());
  const Model again = model_from_config(to_config(model));
  EXPECT_EQ(again.nodes().size(), size_t{kNodes} + 1);
  EXPECT_EQ(bits(again.predict(x)), expected);
}

TEST(LongGraph, IsRebuiltWithEveryNodeReplaced) {
  const Model model = chain();
  const auto rebuilt =
      model.rebuild([&](const GraphNode& node,
                        Rebuild& rebuild) -> std::optional<SymbolicTensor> {
        EXPECT_EQ(rebuild.uses(node), 1);
        EXPECT_TRUE(rebuild.stands_alone(*node.layer));
        const SymbolicTensor at = rebuild.at(node.inputs[0]);
        return node.id % 2 == 0 ? Softmax()(at) : ReLU()(at);
      });
  ASSERT_TRUE(rebuilt.has_value());
  EXPECT_EQ(rebuilt->nodes().size(), model.nodes().size());
}

TEST(LongGraph, LayersAreFoundByName) {
  const Model model = chain();
  for (int i = 0; i < 100; ++i) EXPECT_NO_THROW(model.layer("re_lu_59999"));
  EXPECT_THROW(model.layer("re_lu_60000"), NotFoundError);
}

}  // namespace
}  // namespace octet
