#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Expectations from the toolkit's tests of find_my_predecessors,
// find_my_successors and KerasModelTraveller. The order of neighbors differs:
// Octet lists layers in creation order, Keras lists layers farther from the
// output first. The toolkit's test has the successors of pool1_pool reversed.
// Source: NVIDIA tensorflow-quantization 0.2.0, tests.
TEST(GraphWalk, MatchesTheNeighborsOfTheToolkit) {
  const Model model = zoo::resnet50({.input = {32, 32, 3}, .classes = 10});
  EXPECT_THAT(predecessors(model, "conv2_block1_add"),
              ElementsAre("conv2_block1_0_bn", "conv2_block1_3_bn"));
  EXPECT_THAT(successors(model, "pool1_pool"),
              ElementsAre("conv2_block1_0_conv", "conv2_block1_1_conv"));
}

TEST(GraphWalk, ListsTheLayersOfSam) {
  EXPECT_THAT(layer_names(zoo::sam()),
              ElementsAre("input_layer", "conv2d", "re_lu", "conv2d_1",
                          "re_lu_1", "conv2d_2", "re_lu_2", "conv2d_3", "add",
                          "re_lu_3", "conv2d_4", "re_lu_4", "conv2d_5", "add_1",
                          "re_lu_5", "conv2d_6", "re_lu_6", "conv2d_7",
                          "conv2d_8", "add_2", "re_lu_7", "max_pooling2d",
                          "flatten", "dense", "re_lu_8", "dense_1"));
}

TEST(GraphWalk, ReturnsNothingAtTheEnds) {
  const Model model = zoo::lobelia();
  EXPECT_THAT(predecessors(model, "input_layer"), IsEmpty());
  EXPECT_THAT(successors(model, "dense_1"), IsEmpty());
}

TEST(GraphWalk, ListsANeighborOnce) {
  const SymbolicTensor x = input({3}, "x");
  const SymbolicTensor y = ReLU({.name = "relu"})(x);
  const Model model(x, Add({.name = "add"})({y, y}));
  EXPECT_THAT(predecessors(model, "add"), ElementsAre("relu"));
  EXPECT_THAT(successors(model, "relu"), ElementsAre("add"));
}

TEST(GraphWalk, MergesTheCallsOfASharedLayer) {
  const SymbolicTensor x = input({3}, "x");
  const Dense shared({.units = 3, .name = "shared"});
  const SymbolicTensor y = ReLU({.name = "relu"})(shared(x));
  const Model model(x, Softmax({.name = "end"})(shared(y)));
  EXPECT_THAT(predecessors(model, "shared"), ElementsAre("x", "relu"));
  EXPECT_THAT(successors(model, "shared"), ElementsAre("relu", "end"));
}

TEST(GraphWalk, IgnoresLayersOutsideTheModel) {
  const SymbolicTensor x = input({3}, "x");
  const SymbolicTensor y = ReLU({.name = "relu"})(x);
  const SymbolicTensor outside = Softmax({.name = "outside"})(y);
  const Model model(x, Dense({.units = 2, .name = "inside"})(y));
  EXPECT_THAT(successors(model, "relu"), ElementsAre("inside"));
}

TEST(GraphWalk, SuggestsANameForAnUnknownLayer) {
  const Model model = zoo::lobelia();
  const Failure failure =
      failure_of<NotFoundError>([&] { predecessors(model, "dense_3"); });
  EXPECT_EQ(failure, (Failure{"unknown_name", "model 'lobelia'"}));
  EXPECT_EQ(quoted_names(failure.text()).at(1), "dense_0");
  EXPECT_EQ(failure_of<NotFoundError>([&] { successors(model, ""); }),
            (Failure{"unknown_name", "model 'lobelia'"}));
}

}  // namespace
}  // namespace octet
