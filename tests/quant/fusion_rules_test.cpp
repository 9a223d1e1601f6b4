// The fusion rules on small graphs that are neither models nor ONNX files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/detail/fusion_rules.h>

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum FusionKind;

/// A graph of kinds and inputs; negative inputs are graph inputs. The last node
/// is the output.
class SmallGraph {
 public:
  struct Node {
    FusionKind kind;
    std::vector<int> inputs;
    FusionKind epilogue = other;
    bool broadcasts = false;
  };
  using Value = int;

  explicit SmallGraph(std::vector<Node> nodes) : nodes_(std::move(nodes)) {}

  const Node& at(int index) const {
    return nodes_.at(static_cast<size_t>(index));
  }
  std::vector<const Node*> nodes() const {
    std::vector<const Node*> result;
    for (const Node& node : nodes_) result.push_back(&node);
    return result;
  }
  FusionKind kind(const Node& node) const { return node.kind; }
  FusionKind epilogue(const Node& node) const { return node.epilogue; }
  size_t input_count(const Node& node) const { return node.inputs.size(); }
  int input(const Node& node, size_t index) const { return node.inputs[index]; }
  const Node* producer(int value) const {
    return value < 0 ? nullptr : &at(value);
  }
  int64_t uses(const Node& node) const {
    int64_t uses = &node == &nodes_.back() ? 1 : 0;
    for (const Node& consumer : nodes_) {
      uses += std::ranges::count(consumer.inputs, position(node));
    }
    return uses;
  }
  uint64_t position(const Node& node) const {
    return static_cast<uint64_t>(&node - nodes_.data());
  }
  bool broadcasts(const Node& node) const { return node.broadcasts; }

  /// Returns the index of the linear layer in whose kernel each node is; -1 if
  /// there is none.
  std::vector<int> kernels() const {
    const Fusions<Node> fusions(*this);
    std::vector<int> result;
    for (const Node& node : nodes_) {
      const Node* kernel = fusions.kernel(node);
      result.push_back(kernel == nullptr ? -1
                                         : static_cast<int>(position(*kernel)));
    }
    return result;
  }

 private:
  std::vector<Node> nodes_;
};

static_assert(FusionGraph<SmallGraph>);

TEST(FusionRules, NormalizationsThenActivationsFuseWithALinearLayer) {
  EXPECT_THAT(SmallGraph({{linear, {-1}},
                          {bias, {0}},
                          {normalization, {1}},
                          {activation, {2}},
                          {function, {3}},
                          {normalization, {4}}})
                  .kernels(),
              ElementsAre(0, 0, 0, 0, 0, -1));
  EXPECT_THAT(
      SmallGraph({{linear, {-1}, activation}, {normalization, {0}}}).kernels(),
      ElementsAre(0, -1));
  EXPECT_THAT(
      SmallGraph({{linear, {-1}, floating}, {normalization, {0}}}).kernels(),
      ElementsAre(0, -1));
}

TEST(FusionRules, AValueWithOtherConsumersEndsAKernel) {
  const SmallGraph graph(
      {{linear, {-1}}, {activation, {0}}, {other, {0}}, {other, {1, 2}}});
  EXPECT_THAT(graph.kernels(), ElementsAre(0, -1, -1, -1));
  const Fusions<SmallGraph::Node> fusions(graph);
  const auto chain = fusions.chain(graph.at(1));
  EXPECT_EQ(chain.linear, &graph.at(0));
  EXPECT_EQ(chain.used_more, &graph.at(0));
  EXPECT_FALSE(chain.fuses());
}

TEST(FusionRules, ASiluFusesAlthoughItsInputIsUsedTwice) {
  const std::vector<SmallGraph::Node> silu = {
      {linear, {-1}}, {gate, {0}}, {multiply, {0, 1}}};
  EXPECT_THAT(SmallGraph(silu).kernels(), ElementsAre(0, 0, 0));
  auto gate_used = silu;
  gate_used.push_back({other, {1, 2}});
  EXPECT_THAT(SmallGraph(gate_used).kernels(), ElementsAre(0, -1, -1, -1));
  EXPECT_THAT(
      SmallGraph({{linear, {-1}}, {gate, {-2}}, {multiply, {0, 1}}}).kernels(),
      ElementsAre(0, -1, -1));
  // Inputs of the graph have no producer, but are different values.
  const SmallGraph inputs({{gate, {-2}}, {multiply, {-1, 0}}});
  EXPECT_EQ(silu_gate(inputs, inputs.at(1)), nullptr);
}

TEST(FusionRules, TheLongestBranchFusesWithAnAdd) {
  // A projection of one layer and a branch of three.
  const SmallGraph graph({{linear, {-1}},
                          {linear, {0}},
                          {linear, {0}},
                          {normalization, {2}},
                          {activation, {3}},
                          {add, {1, 4}},
                          {activation, {5}}});
  EXPECT_THAT(graph.kernels(), ElementsAre(0, 1, 2, 2, 2, 2, 2));
  EXPECT_THAT(paths_to_ancestor(graph, graph.at(5)).layers, ElementsAre(1, 3));
  const Fusions<SmallGraph::Node> fusions(graph);
  EXPECT_THAT(fusions.fusing_inputs(graph.at(5)), ElementsAre(0, 1));
  EXPECT_TRUE(fusions.has_linear_successor(graph.at(0)));
  EXPECT_FALSE(fusions.has_linear_successor(graph.at(1)));
  EXPECT_FALSE(fusions.has_linear_predecessor(graph.at(0)));
  EXPECT_TRUE(fusions.has_linear_predecessor(graph.at(6)));
}

TEST(FusionRules, NothingFusesWithAnAddThatBroadcasts) {
  const SmallGraph graph(
      {{linear, {-1}}, {add, {-2, 0}, other, true}, {activation, {1}}});
  EXPECT_THAT(graph.kernels(), ElementsAre(0, -1, -1));
  EXPECT_THAT(Fusions<SmallGraph::Node>(graph).fusing_inputs(graph.at(1)),
              IsEmpty());
}

// Expected: ModelOpt 0.47 leaves these convolutions float.
TEST(FusionRules, NarrowConvolutions) {
  EXPECT_FALSE(is_narrow({{3, 3}, 16, 16, 1}, false));
  EXPECT_FALSE(is_narrow({{3, 3}, 3, 16, 1}, true));
  EXPECT_TRUE(is_narrow({{3, 3}, 3, 17, 1}, false));
  EXPECT_TRUE(is_narrow({{3, 1}, 8, 16, 1}, false));
  EXPECT_FALSE(is_narrow({{3, 3}, 8, 8, 8}, false));
  EXPECT_TRUE(is_narrow({{1, 1}, 8, 8, 8}, false));
}

}  // namespace
}  // namespace octet::quant
