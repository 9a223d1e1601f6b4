#include <type_traits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

TEST(Graph, AnInputStartsWithTheBatchAxis) {
  EXPECT_EQ(input({28, 14, 3}).shape(), Shape({Shape::kAnySize, 28, 14, 3}));
  EXPECT_EQ(input({}).shape(), Shape({Shape::kAnySize}));
}

TEST(Graph, AnInputRejectsDimensionsBelowOne) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)input({28, 0, 3});
            }),
            (Failure{"invalid_shape", "input"}));
  EXPECT_THROW(input({Shape::kAnySize, 3}), ShapeError);
}

TEST(Graph, AnInputRejectsTooManyDimensions) {
  EXPECT_NO_THROW(input({1, 1, 1, 1, 1, 1, 1}));
  EXPECT_THROW(input({1, 1, 1, 1, 1, 1, 1, 1}), ShapeError);
}

TEST(Graph, ACallAddsANodeAfterItsInputs) {
  const SymbolicTensor x = input({5});
  const Dense layer({.units = 2});
  const SymbolicTensor y = layer(x);
  EXPECT_EQ(y.node->layer, layer.layer());
  ASSERT_EQ(y.node->inputs.size(), 1u);
  EXPECT_EQ(y.node->inputs[0].node, x.node);
  EXPECT_GT(y.node->id, x.node->id);
  EXPECT_EQ(y.shape(), Shape({Shape::kAnySize, 2}));
}

TEST(Graph, AConstModelHasConstLayers) {
  using LayerReference = decltype(*std::declval<const Model&>().layers()[0]);
  static_assert(std::is_same_v<LayerReference, const Layer&>);
  static_assert(
      std::is_same_v<decltype(*input({5}).node->layer), const Layer&>);
  const SymbolicTensor x = input({5});
  Model model(x, Dense({.units = 2, .name = "fc"})(x));
  model.layers()[1]->set_trainable(false);
  EXPECT_FALSE(std::as_const(model).layers()[1]->trainable());
  EXPECT_EQ(std::as_const(model).layers()[1].get(), &model.layer("fc"));
}

TEST(Graph, ACallBuildsTheLayerOnce) {
  const Dense layer({.units = 2});
  EXPECT_FALSE(layer->built());
  const SymbolicTensor x = input({5});
  (void)layer(x);
  EXPECT_TRUE(layer->built());
  (void)layer(x);
  EXPECT_EQ(layer->parameters().size(), 2u);
}

TEST(Graph, ARejectedCallLeavesTheLayerUnchanged) {
  const Conv2D layer({.filters = 2});
  EXPECT_THROW(layer(input({2, 2, 1})), ShapeError);
  EXPECT_FALSE(layer->built());
  EXPECT_NO_THROW(layer(input({3, 3, 1})));
}

TEST(Graph, RejectsASecondCallWithOtherChannels) {
  const Dense layer({.units = 2, .name = "shared"});
  (void)layer(input({5}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)layer(input({6})); }),
            (Failure{"shape_mismatch", "input"}));
}

TEST(Graph, RejectsAnEmptyTensor) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)ReLU()(SymbolicTensor()); }),
            (Failure{"missing_value", "symbolic tensor"}));
  EXPECT_THROW((void)SymbolicTensor().shape(), ValueError);
}

TEST(Graph, ErrorsNameTheLayerAndItsInputs) {
  EXPECT_THAT(failure_of<ShapeError>([] {
                (void)Conv2D({.filters = 1, .name = "conv1"})(input({8, 3}));
              }).context,
              ElementsAre("in layer 'conv1' (Conv2D), input [N,8,3]"));
  EXPECT_THAT(failure_of<ShapeError>([] {
                (void)Conv2D({.filters = 1})(input({8, 3}));
              }).context,
              ElementsAre("in an unnamed layer (Conv2D), input [N,8,3]"));
  EXPECT_THAT(failure_of<ValueError>([] {
                const SymbolicTensor x = input({8});
                (void)Dense({.units = 1})({x, input({4})});
              }).context,
              ElementsAre("in an unnamed layer (Dense), input [N,8], [N,4]"));
}

TEST(Graph, RejectsUnknownParameters) {
  const Dense layer({.units = 2, .name = "logits"});
  (void)layer(input({3}));
  EXPECT_EQ(failure_of<NotFoundError>([&] { layer->parameter("gamma"); }),
            (Failure{"unknown_name", "Dense 'logits'"}));
  EXPECT_EQ(failure_of<NotFoundError>([] { ReLU()->parameter("kernel"); }),
            (Failure{"unknown_name", "ReLU"}));
}

TEST(Graph, CopiesOfAHandleShareTheLayer) {
  const Dense layer({.units = 2});
  const Dense copy = layer;
  EXPECT_EQ(copy.layer(), layer.layer());
}

TEST(Graph, RejectsSamplesTooLargeForATensor) {
  const UpSampling2D up({.size = {1 << 19, 1 << 19}});
  EXPECT_THROW((void)up(up(up(up(up(input({4, 4, 3})))))), ShapeError);
}

}  // namespace
}  // namespace octet
