#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

Model image_model() {
  const SymbolicTensor x = input({4, 5, 3}, "image");
  return Model(x, ReLU()(x), {.name = "net"});
}

TEST(ModelRun, RejectsAnInputOfAnotherShape) {
  const Model model = image_model();
  const auto failure = [&](const Shape& shape) {
    return failure_of<ShapeError>(
        [&] { (void)model(Variable(Tensor::zeros(shape))); });
  };
  for (const Shape& shape : {Shape{2, 5, 4, 3}, Shape{4, 5, 3},
                             Shape{2, 4, 5, 1}, Shape{0, 4, 5, 3}, Shape{}}) {
    EXPECT_EQ(failure(shape), (Failure{"shape_mismatch", "input 'image'"}));
  }
  EXPECT_THAT(calls_in(failure({2, 5, 4, 3}).message),
              ElementsAre("x.transposed({0,2,1,3})"));
  EXPECT_THAT(calls_in(failure({4, 5, 3}).message),
              ElementsAre("x.reshaped({1,4,5,3})"));
  EXPECT_THAT(numbers_in(failure({}).message), ElementsAre(4, 5, 3));
}

TEST(ModelRun, HintsAtTheTransposeForChannelsFirstImages) {
  const Model model = image_model();
  const Tensor x = Tensor::zeros({2, 3, 4, 5});
  for (const std::string& text :
       {error_of<ShapeError>([&] { (void)model(Variable(x)); }),
        error_of<ShapeError>([&] { (void)model.predict(x); })}) {
    EXPECT_THAT(calls_in(text), ElementsAre("x.transposed({0,2,3,1})"));
  }
  // The hint is correct.
  EXPECT_EQ(model.predict(x.transposed({0, 2, 3, 1})).shape(),
            (Shape{2, 4, 5, 3}));
}

TEST(ModelRun, RejectsAnEmptyVariable) {
  EXPECT_THROW((void)image_model()(Variable()), ValueError);
}

TEST(ModelRun, RejectsOtherElementTypes) {
  const SymbolicTensor x = input({3});
  const Model model(x, Dense({.units = 2})(x));
  const Variable bytes(Tensor::zeros({1, 3}, DType::u8));
  EXPECT_THROW((void)model(bytes).value(), ValueError);
}

TEST(ModelRun, AddsLayerAndInputShapesToErrors) {
  const SymbolicTensor x = input({4, 3});
  const LayerHandle failing(std::make_shared<FailingLayer>());
  failing->set_name("broken");
  const Model model(x, failing(Dense({.units = 7})(x)));
  try {
    (void)model(Variable(Tensor::zeros({2, 4, 3})));
    FAIL() << "no error";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.subject(), "disk");
    ASSERT_EQ(error.context().size(), 1u);
    EXPECT_EQ(error.context()[0],
              "in layer 'broken' (UserFailing), input [2,4,7]");
  }
}

TEST(ModelRun, AddsLayerAndInputShapesToErrorsOfPredict) {
  const SymbolicTensor x = input({3});
  const Model model(x, LayerHandle(std::make_shared<FailingLayer>())(x));
  // A single chunk, and several in parallel.
  for (const int64_t n : {1, 40}) {
    EXPECT_THAT(failure_of<ValueError>([&] {
                  (void)model.predict(Tensor::zeros({n, 3}));
                }).context,
                ElementsAre(StartsWith(
                    "in layer 'user_failing' (UserFailing), input [")));
  }
}

/// Returns whether a run of the model updates batch normalization's statistics.
template <class Run>
bool trains(Run run) {
  const BatchNormalization layer;
  const SymbolicTensor x = input({2});
  Model model(x, layer(x));
  run(model, Variable(tensor({2, 2}, {1, 2, 3, 4})));
  return values(layer->parameter("moving_mean").variable)[0] != 0;
}

// As in Keras, the mode alone decides whether statistics are updated, with or
// without gradients; the default is inference.
TEST(ModelRun, RunsInferenceByDefault) {
  EXPECT_FALSE(
      trains([](Model& model, const Variable& x) { (void)model(x).value(); }));
  EXPECT_TRUE(trains([](Model& model, const Variable& x) {
    (void)model(x, Mode::training).value();
  }));
  EXPECT_TRUE(trains([](Model& model, const Variable& x) {
    const NoGradGuard no_grad;
    (void)model(x, Mode::training).value();
  }));
}

static_assert(std::is_invocable_v<const Model&, const Variable&>);
static_assert(std::is_invocable_v<Model&, const Variable&, Mode>);
static_assert(!std::is_invocable_v<const Model&, const Variable&, Mode>);

TEST(ModelRun, PredictNeverTrains) {
  EXPECT_FALSE(trains(
      [](Model& model, const Variable& x) { (void)model.predict(x.value()); }));
}

TEST(ModelRun, ComputesGradientsOfEveryTrainableParameter) {
  const SymbolicTensor x = input({4, 5, 3});
  SymbolicTensor y = Conv2D({.filters = 2})(x);
  y = Dense({.units = 3})(Flatten()(ReLU()(BatchNormalization()(y))));
  const Model model(x, y);
  const Variable image(noise({2, 4, 5, 3}));
  softmax_cross_entropy(model(image), Tensor::zeros({2}, DType::i64))
      .backward();
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      EXPECT_EQ(p.variable.grad().empty(), !p.trainable)
          << layer->name() << "/" << p.name;
    }
  }
}

TEST(ModelRun, CallsTheObserverForEveryNodeInOrder) {
  const SymbolicTensor x = input({2}, "x");
  const Model model(x, ReLU({.name = "b"})(ReLU({.name = "a"})(x)));
  std::vector<std::string> seen;
  const Variable data(tensor({1, 2}, {-1, 2}));
  model.run(std::span(&data, 1),
            [&](const GraphNode& node, const Variable& value) {
              seen.push_back(node.layer->name());
              EXPECT_EQ(value.shape(), Shape({1, 2}));
            });
  EXPECT_EQ(seen, (std::vector<std::string>{"x", "a", "b"}));
}

TEST(ModelRun, RejectsInputsOfAnotherType) {
  const Sequential model({2}, {Dense({.units = 1})});
  const Tensor x = Tensor::zeros({1, 2}, DType::u8);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model(Variable(x)); }),
            (Failure{"dtype_mismatch", "input 'input_layer'"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model.predict(x); }),
            (Failure{"dtype_mismatch", "input 'input_layer'"}));
}

}  // namespace
}  // namespace octet
