#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

TEST(Model, NamesLayersByClassAsKerasDoes) {
  const SymbolicTensor x = input({16, 16, 1});
  SymbolicTensor y = Conv2D({.filters = 2})(x);
  y = BatchNormalization()(y);
  y = ReLU()(y);
  y = Conv2D({.filters = 2})(y);
  y = BatchNormalization()(y);
  y = ReLU()(y);
  y = MaxPooling2D()(y);
  y = Conv2D({.filters = 2})(y);
  y = Softmax()(Dense({.units = 2})(Flatten()(y)));
  EXPECT_EQ(
      names(Model(x, y)),
      (Names{"input_layer", "conv2d", "batch_normalization", "re_lu",
             "conv2d_1", "batch_normalization_1", "re_lu_1", "max_pooling2d",
             "conv2d_2", "flatten", "dense", "softmax"}));
}

TEST(Model, NamesEveryModelFromTheStart) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor z = input({2});
  EXPECT_EQ(names(Model(x, Dense({.units = 1})(x))),
            names(Model(z, Dense({.units = 1})(z))));
}

TEST(Model, NamesInTheOrderOfCreationNotOfUse) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor late = ReLU()(x);
  const SymbolicTensor early = ReLU({.max_value = 6})(x);
  const Model model(x, Sum()({early, late}));
  EXPECT_TRUE(model.layer("re_lu").config().at("max_value").is_null());
  EXPECT_FALSE(model.layer("re_lu_1").config().at("max_value").is_null());
}

TEST(Model, KeepsNamesThatWereGivenAndGoesAroundThem) {
  const SymbolicTensor x = input({2}, "image");
  SymbolicTensor y = Dense({.units = 1})(x);
  y = Dense({.units = 1, .name = "dense"})(y);
  y = Dense({.units = 1, .name = "dense_2"})(y);
  y = Dense({.units = 1})(y);
  EXPECT_EQ(names(Model(x, y)),
            (Names{"image", "dense_1", "dense", "dense_2", "dense_3"}));
}

TEST(Model, KeepsTheNamesThatAnotherModelGave) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor y = Dense({.units = 3})(x);
  const Model inner(x, y);
  const Model outer(x, Dense({.units = 4})(y));
  EXPECT_EQ(names(outer), (Names{"x", "dense", "dense_1"}));
  EXPECT_EQ(&outer.layer("dense"), &inner.layer("dense"));
}

TEST(Model, RefusesTwoLayersOfOneName) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor y = Dense({.units = 1, .name = "a"})(x);
  EXPECT_THAT(error_of<ValueError>(
                  [&] { Model(x, ReLU({.name = "a"})(y), {.name = "net"}); }),
              AllOf(HasSubstr("expected layer names to be unique, got two "
                              "layers 'a'"),
                    HasSubstr("\n  in model 'net'")));
}

TEST(Model, ARefusedModelNamesNothing) {
  const SymbolicTensor x = input({2}, "a");
  const Dense dense({.units = 1});
  const SymbolicTensor y = ReLU({.name = "a"})(dense(x));
  EXPECT_THROW(Model(x, y), ValueError);
  EXPECT_EQ(dense->name(), "");
}

TEST(Model, RefusesInputsThatAreNotInputs) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor y = ReLU()(x);
  EXPECT_THAT(
      error_of<ValueError>([&] { Model(y, ReLU()(y)); }),
      HasSubstr("expected inputs made by input(), got the output of a layer "
                "ReLU"));
}

TEST(Model, RefusesAnOutputThatNeedsAnotherInput) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor z = input({2}, "z");
  EXPECT_THAT(error_of<ValueError>([&] {
                Model(x, Sum()({x, z}));
              }),
              HasSubstr("the outputs need the input [N,2] 'z'"));
  EXPECT_THROW(Model(x, ReLU()(z)), ValueError);
}

TEST(Model, RefusesEmptyTensorsAndNone) {
  const SymbolicTensor x = input({2});
  EXPECT_THROW(Model(SymbolicTensor(), x), ValueError);
  EXPECT_THROW(Model(x, SymbolicTensor()), ValueError);
  const std::vector<SymbolicTensor> none;
  const std::vector some{x};
  EXPECT_THAT(error_of<ValueError>([&] { Model(none, some); }),
              HasSubstr("expected at least one input and one output"));
  EXPECT_THROW(Model(some, none), ValueError);
}

TEST(Model, RefusesOneInputTwice) {
  const SymbolicTensor x = input({2});
  EXPECT_THROW(Model({x, x}, {ReLU()(x)}), ValueError);
}

TEST(Model, TakesItsInputForItsOutput) {
  const SymbolicTensor x = input({2});
  const Model model(x, x);
  EXPECT_EQ(values(model.predict(tensor({1, 2}, {3, 4}))),
            (std::vector<float>{3, 4}));
}

TEST(Model, RunsGraphsOfSeveralInputsAndOutputs) {
  const SymbolicTensor a = input({2}, "a");
  const SymbolicTensor b = input({2}, "b");
  const SymbolicTensor sum = Sum()({a, b});
  // The outputs are not in the order of creation.
  const Model model({b, a}, {ReLU()(sum), sum, a});
  const std::vector<Variable> inputs{Variable(tensor({1, 2}, {1, 2})),
                                     Variable(tensor({1, 2}, {-10, 20}))};
  const auto outputs = model(inputs);
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(values(outputs[0]), (std::vector<float>{0, 22}));
  EXPECT_EQ(values(outputs[1]), (std::vector<float>{-9, 22}));
  EXPECT_EQ(values(outputs[2]), (std::vector<float>{-10, 20}));
}

TEST(Model, TellsTheInputsOfOneGraphApart) {
  const SymbolicTensor a = input({2}, "a");
  const SymbolicTensor b = input({3}, "b");
  const Model model({a, b}, {ReLU()(a), ReLU()(b)});
  const std::vector<Variable> swapped{Variable(Tensor::zeros({1, 3})),
                                      Variable(Tensor::zeros({1, 2}))};
  EXPECT_THAT(error_of<ShapeError>([&] { model(swapped); }),
              HasSubstr("input 'a': expected [N,2], got [1,3]"));
}

TEST(Model, RefusesAnotherNumberOfInputs) {
  const SymbolicTensor a = input({2});
  const SymbolicTensor b = input({2});
  const Model model({a, b}, {Sum()({a, b})}, {.name = "pair"});
  const Variable x(Tensor::zeros({1, 2}));
  EXPECT_THAT(error_of<ValueError>([&] { (void)model(x); }),
              HasSubstr("model 'pair': expected 2 inputs, got 1"));
  EXPECT_THROW(model(std::span<const Variable>()), ValueError);
}

TEST(Model, GivesOneAnswerOnlyIfItHasOneOutput) {
  const SymbolicTensor x = input({2});
  const Model model({x}, {ReLU()(x), x});
  EXPECT_THAT(error_of<ValueError>([&] {
                (void)model(Variable(Tensor::zeros({1, 2})));
              }),
              HasSubstr("expected one output, got 2"));
}

TEST(Model, ALayerCalledTwiceHasOneSetOfWeights) {
  const SymbolicTensor x = input({2});
  const Offset shared(3);
  const Model model(x, shared(ReLU()(shared(x))));
  EXPECT_EQ(model.nodes().size(), 4u);
  EXPECT_EQ(model.layers().size(), 3u);
  EXPECT_EQ(model.parameter_count(), 2);
  EXPECT_EQ(values(model.predict(tensor({1, 2}, {-5, 1}))),
            (std::vector<float>{3, 7}));
}

TEST(Model, ABranchThatNobodyUsesIsNoPartOfIt) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor used = Dense({.units = 1, .name = "used"})(x);
  (void)Dense({.units = 1, .name = "unused"})(x);
  const Model model(x, used);
  EXPECT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.parameter_count(), 3);
  EXPECT_THROW(model.layer("unused"), NotFoundError);
}

TEST(Model, KeepsAnInputThatNoOutputNeeds) {
  const SymbolicTensor a = input({2});
  const SymbolicTensor b = input({3});
  const Model model({a, b}, {ReLU()(a)});
  const std::vector<Variable> inputs{Variable(tensor({1, 2}, {-1, 1})),
                                     Variable(Tensor::zeros({1, 3}))};
  EXPECT_EQ(values(model(inputs)[0]), (std::vector<float>{0, 1}));
}

TEST(Model, ListsItsNodesInTopologicalAndCreationOrder) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor a = Dense({.units = 2, .name = "a"})(x);
  const SymbolicTensor b = Dense({.units = 2, .name = "b"})(x);
  const Model model(x, Sum("sum")({b, a}));
  Names order;
  for (const auto& node : model.nodes()) order.push_back(node->layer->name());
  EXPECT_EQ(order, (Names{"x", "a", "b", "sum"}));
}

TEST(Model, FindsALayerByName) {
  const SymbolicTensor x = input({2});
  const Dense dense({.units = 1, .name = "logits"});
  const Model model(x, dense(x));
  EXPECT_EQ(&model.layer("logits"), dense.layer().get());
}

TEST(Model, SuggestsNearNamesForALayerItDoesNotHave) {
  const SymbolicTensor x = input({8, 8, 1});
  const Model model(x, Conv2D({.filters = 1})(Conv2D({.filters = 1})(x)),
                    {.name = "net"});
  const auto text = [&](std::string_view name) {
    return error_of<NotFoundError>([&] { model.layer(name); });
  };
  EXPECT_EQ(text("conv2_1"),
            "model 'net': expected a layer 'conv2_1'; did you mean 'conv2d_1' "
            "or 'conv2d'?");
  EXPECT_EQ(text("dense"),
            "model 'net': expected a layer 'dense'; there are 'input_layer', "
            "'conv2d', 'conv2d_1'");
  EXPECT_THAT(text(""), HasSubstr("expected a layer ''"));
}

TEST(Model, CountsItsParameters) {
  const SymbolicTensor x = input({28, 28, 1});
  SymbolicTensor y = Conv2D({.filters = 8, .padding = Padding::same})(x);
  y = BatchNormalization()(y);
  y = Dense({.units = 10})(Flatten()(MaxPooling2D()(y)));
  EXPECT_EQ(Model(x, y).parameter_count(),
            (9 * 8 + 8) + 4 * 8 + (14 * 14 * 8 * 10 + 10));
}

TEST(Model, IsCalledModelUnlessNamed) {
  const SymbolicTensor x = input({2});
  EXPECT_EQ(Model(x, x).name(), "model");
  EXPECT_EQ(Model(x, x, {.name = "net"}).name(), "net");
}

TEST(Model, MovesWithItsLayers) {
  const SymbolicTensor x = input({2});
  Model model(x, Offset(1)(x));
  const Model moved = std::move(model);
  EXPECT_EQ(values(moved.predict(tensor({1, 2}, {3, 4}))),
            (std::vector<float>{4, 5}));
}

TEST(Model, OfTenThousandLayersRunsClonesAndGoes) {
  const SymbolicTensor x = input({2});
  SymbolicTensor y = Dense({.units = 2})(x);
  for (int i = 0; i < 10000; ++i) y = ReLU()(y);
  const Model model(x, y);
  const Model copy = model.clone();
  const Variable loss = softmax_cross_entropy(copy(Variable(noise({1, 2}))),
                                              Tensor::of<int64_t>({1}, {0}));
  EXPECT_NO_THROW(loss.backward());
}

}  // namespace
}  // namespace octet
