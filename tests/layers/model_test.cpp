#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "../facts.h"
#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::Contains;

using Names = std::vector<std::string>;

TEST(Model, NamesLayersByClassAsKeras) {
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

TEST(Model, StartsNumberingInEveryModel) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor z = input({2});
  EXPECT_EQ(names(Model(x, Dense({.units = 1})(x))),
            names(Model(z, Dense({.units = 1})(z))));
}

TEST(Model, NamesInCreationOrder) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor late = ReLU()(x);
  const SymbolicTensor early = ReLU({.max_value = 6})(x);
  const Model model(x, Sum()({early, late}));
  EXPECT_TRUE(model.layer("re_lu").config().at("max_value").is_null());
  EXPECT_FALSE(model.layer("re_lu_1").config().at("max_value").is_null());
}

TEST(Model, KeepsGivenNamesAndSkipsThem) {
  const SymbolicTensor x = input({2}, "image");
  SymbolicTensor y = Dense({.units = 1})(x);
  y = Dense({.units = 1, .name = "dense"})(y);
  y = Dense({.units = 1, .name = "dense_2"})(y);
  y = Dense({.units = 1})(y);
  EXPECT_EQ(names(Model(x, y)),
            (Names{"image", "dense_1", "dense", "dense_2", "dense_3"}));
}

TEST(Model, KeepsNamesFromAnotherModel) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor y = Dense({.units = 3})(x);
  const Model inner(x, y);
  const Model outer(x, Dense({.units = 4})(y));
  EXPECT_EQ(names(outer), (Names{"x", "dense", "dense_1"}));
  EXPECT_EQ(&outer.layer("dense"), &inner.layer("dense"));
}

TEST(Model, RejectsDuplicateLayerNames) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor y = Dense({.units = 1, .name = "a"})(x);
  EXPECT_EQ(failure_of<ValueError>(
                [&] { Model(x, ReLU({.name = "a"})(y), {.name = "net"}); }),
            (Failure{"duplicate_name", "model"}));
}

TEST(Model, ARejectedModelNamesNoLayers) {
  const SymbolicTensor x = input({2}, "a");
  const Dense dense({.units = 1});
  const SymbolicTensor y = ReLU({.name = "a"})(dense(x));
  EXPECT_THROW(Model(x, y), ValueError);
  EXPECT_EQ(dense->name(), "");
}

TEST(Model, RejectsInputsNotCreatedByInput) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor y = ReLU()(x);
  EXPECT_EQ(failure_of<ValueError>([&] { Model(y, ReLU()(y)); }),
            (Failure{"invalid_value", "model"}));
}

TEST(Model, RejectsAnOutputThatDependsOnAnotherInput) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor z = input({2}, "z");
  EXPECT_EQ(failure_of<ValueError>([&] {
              Model(x, Sum()({x, z}));
            }),
            (Failure{"missing_value", "model"}));
  EXPECT_THROW(Model(x, ReLU()(z)), ValueError);
}

TEST(Model, RejectsEmptyTensorsAndEmptyLists) {
  const SymbolicTensor x = input({2});
  EXPECT_THROW(Model(SymbolicTensor(), x), ValueError);
  EXPECT_THROW(Model(x, SymbolicTensor()), ValueError);
  const std::vector<SymbolicTensor> none;
  const std::vector some{x};
  EXPECT_EQ(failure_of<ValueError>([&] { Model(none, some); }),
            (Failure{"missing_value", "model"}));
  EXPECT_THROW(Model(some, none), ValueError);
}

TEST(Model, RejectsADuplicateInput) {
  const SymbolicTensor x = input({2});
  EXPECT_THROW(Model({x, x}, {ReLU()(x)}), ValueError);
}

TEST(Model, AcceptsItsInputAsOutput) {
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

TEST(Model, DistinguishesInputs) {
  const SymbolicTensor a = input({2}, "a");
  const SymbolicTensor b = input({3}, "b");
  const Model model({a, b}, {ReLU()(a), ReLU()(b)});
  const std::vector<Variable> swapped{Variable(Tensor::zeros({1, 3})),
                                      Variable(Tensor::zeros({1, 2}))};
  EXPECT_EQ(failure_of<ShapeError>([&] { model(swapped); }),
            (Failure{"shape_mismatch", "input 'a'"}));
}

TEST(Model, RejectsAWrongNumberOfInputs) {
  const SymbolicTensor a = input({2});
  const SymbolicTensor b = input({2});
  const Model model({a, b}, {Sum()({a, b})}, {.name = "pair"});
  const Variable x(Tensor::zeros({1, 2}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model(x); }),
            (Failure{"count_mismatch", "model 'pair'"}));
  EXPECT_THROW(model(std::span<const Variable>()), ValueError);
}

TEST(Model, ReturnsASingleOutputOnlyIfThereIsOne) {
  const SymbolicTensor x = input({2});
  const Model model({x}, {ReLU()(x), x});
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)model(Variable(Tensor::zeros({1, 2})));
            }),
            (Failure{"count_mismatch", "model 'model'"}));
}

TEST(Model, ALayerCalledTwiceSharesItsWeights) {
  const SymbolicTensor x = input({2});
  const Offset shared(3);
  const Model model(x, shared(ReLU()(shared(x))));
  EXPECT_EQ(model.nodes().size(), 4u);
  EXPECT_EQ(model.layers().size(), 3u);
  EXPECT_EQ(model.parameter_count(), 2);
  EXPECT_EQ(values(model.predict(tensor({1, 2}, {-5, 1}))),
            (std::vector<float>{3, 7}));
}

TEST(Model, ExcludesUnusedBranches) {
  const SymbolicTensor x = input({2});
  const SymbolicTensor used = Dense({.units = 1, .name = "used"})(x);
  (void)Dense({.units = 1, .name = "unused"})(x);
  const Model model(x, used);
  EXPECT_EQ(model.layers().size(), 2u);
  EXPECT_EQ(model.parameter_count(), 3);
  EXPECT_THROW(model.layer("unused"), NotFoundError);
}

TEST(Model, KeepsUnusedInputs) {
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

TEST(Model, SuggestsNearNamesForAnUnknownLayer) {
  const SymbolicTensor x = input({8, 8, 1});
  const Model model(x, Conv2D({.filters = 1})(Conv2D({.filters = 1})(x)),
                    {.name = "net"});
  for (const char* name : {"conv2_1", "dense", ""}) {
    const Failure failure =
        failure_of<NotFoundError>([&] { model.layer(name); });
    EXPECT_EQ(failure, (Failure{"unknown_name", "model 'net'"}));
    EXPECT_THAT(quoted_names(failure.text()), Contains("conv2d_1"));
  }
}

TEST(Model, CountsItsParameters) {
  const SymbolicTensor x = input({28, 28, 1});
  SymbolicTensor y = Conv2D({.filters = 8, .padding = Padding::same})(x);
  y = BatchNormalization()(y);
  y = Dense({.units = 10})(Flatten()(MaxPooling2D()(y)));
  EXPECT_EQ(Model(x, y).parameter_count(),
            (9 * 8 + 8) + 4 * 8 + (14 * 14 * 8 * 10 + 10));
}

TEST(Model, IsNamedModelByDefault) {
  const SymbolicTensor x = input({2});
  EXPECT_EQ(Model(x, x).name(), "model");
  EXPECT_EQ(Model(x, x, {.name = "net"}).name(), "net");
}

TEST(Model, MovesItsLayers) {
  const SymbolicTensor x = input({2});
  Model model(x, Offset(1)(x));
  const Model moved = std::move(model);
  EXPECT_EQ(values(moved.predict(tensor({1, 2}, {3, 4}))),
            (std::vector<float>{4, 5}));
}

TEST(Model, WithTenThousandLayersRunsClonesAndIsReleased) {
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
