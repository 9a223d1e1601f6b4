#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

Model image_model() {
  const SymbolicTensor x = input({4, 5, 3}, "image");
  return Model(x, ReLU()(x), {.name = "net"});
}

TEST(ModelRun, RefusesAnInputOfAnotherShapeAndNamesBoth) {
  const Model model = image_model();
  const auto refusal = [&](const Shape& shape) {
    return error_of<ShapeError>(
        [&] { (void)model(Variable(Tensor::zeros(shape))); });
  };
  EXPECT_EQ(refusal({2, 5, 4, 3}),
            "input 'image': expected [N,4,5,3], got [2,5,4,3]. Hint: these are "
            "the same sizes in another order: x.transposed({0,2,1,3})");
  EXPECT_EQ(
      refusal({4, 5, 3}),
      "input 'image': expected [N,4,5,3], got [4,5,3]. Hint: add the axis "
      "of the samples, x.reshaped({1,4,5,3})");
  EXPECT_EQ(refusal({2, 4, 5, 1}),
            "input 'image': expected [N,4,5,3], got [2,4,5,1]");
  EXPECT_EQ(refusal({0, 4, 5, 3}),
            "input 'image': expected [N,4,5,3], got [0,4,5,3]");
  EXPECT_EQ(refusal({}), "input 'image': expected [N,4,5,3], got []");
}

TEST(ModelRun, OfImagesWithTheChannelsFirstSaysHowToTransposeThem) {
  const Model model = image_model();
  const Tensor x = Tensor::zeros({2, 3, 4, 5});
  for (const std::string& refusal :
       {error_of<ShapeError>([&] { (void)model(Variable(x)); }),
        error_of<ShapeError>([&] { (void)model.predict(x); })}) {
    EXPECT_THAT(refusal, HasSubstr("(NHWC): x.transposed({0,2,3,1})"));
  }
  // What it says is right.
  EXPECT_EQ(model.predict(x.transposed({0, 2, 3, 1})).shape(),
            (Shape{2, 4, 5, 3}));
}

TEST(ModelRun, RefusesAnEmptyVariable) {
  EXPECT_THROW((void)image_model()(Variable()), ValueError);
}

TEST(ModelRun, RefusesOtherElementTypes) {
  const SymbolicTensor x = input({3});
  const Model model(x, Dense({.units = 2})(x));
  const Variable bytes(Tensor::zeros({1, 3}, DType::u8));
  EXPECT_THROW((void)model(bytes).value(), ValueError);
}

TEST(ModelRun, AddsLayerAndInputShapesToAnErrorOfALayer) {
  const SymbolicTensor x = input({4, 3});
  const LayerHandle failing(std::make_shared<FailingLayer>());
  failing->set_name("broken");
  const Model model(x, failing(Dense({.units = 7})(x)));
  try {
    (void)model(Variable(Tensor::zeros({2, 4, 3})));
    FAIL() << "no error";
  } catch (const ValueError& error) {
    EXPECT_EQ(error.message(), "disk: expected a disk, got none");
    ASSERT_EQ(error.context().size(), 1u);
    EXPECT_EQ(error.context()[0],
              "in layer 'broken' (UserFailing), input [2,4,7]");
  }
}

TEST(ModelRun, AddsLayerAndInputShapesToAnErrorInPredictToo) {
  const SymbolicTensor x = input({3});
  const Model model(x, LayerHandle(std::make_shared<FailingLayer>())(x));
  // One chunk, and several in parallel.
  for (const int64_t n : {1, 40}) {
    EXPECT_THAT(error_of<ValueError>([&] {
                  (void)model.predict(Tensor::zeros({n, 3}));
                }),
                HasSubstr("in layer 'user_failing' (UserFailing), input ["));
  }
}

/// Whether a run of the model moves the statistics of batch normalization.
template <class Run>
bool trains(Run run) {
  const BatchNormalization layer;
  const SymbolicTensor x = input({2});
  Model model(x, layer(x));
  run(model, Variable(tensor({2, 2}, {1, 2, 3, 4})));
  return values(layer->parameter("moving_mean").variable)[0] != 0;
}

// As in Keras: whoever forgets the mode in a loop of his own does not move
// statistics, and whoever says it does, with gradients or without.
TEST(ModelRun, IsInferenceUnlessToldToTrain) {
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

TEST(ModelRun, GivesGradientsToEveryTrainedParameter) {
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

TEST(ModelRun, ShowsTheObserverEveryNodeInOrder) {
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

TEST(ModelRun, RefusesInputsOfAnotherType) {
  const Sequential model({2}, {Dense({.units = 1})});
  const Tensor x = Tensor::zeros({1, 2}, DType::u8);
  EXPECT_THAT(error_of<ValueError>([&] { (void)model(Variable(x)); }),
              HasSubstr("expected f32, got u8"));
  EXPECT_THAT(error_of<ValueError>([&] { (void)model.predict(x); }),
              HasSubstr("expected f32, got u8"));
}

}  // namespace
}  // namespace octet
