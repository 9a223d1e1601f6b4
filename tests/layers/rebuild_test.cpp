#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

/// x -> a (Dense) -> relu -> d (Dropout) -> b (Dense), and c in parallel.
Model rebuilt_network() {
  const SymbolicTensor x = input({3}, "x");
  SymbolicTensor y = Dense({.units = 4, .name = "a"})(x);
  y = Dropout({.rate = 0.5f, .name = "d"})(ReLU({.name = "relu"})(y));
  y = Dense({.units = 2, .name = "b"})(y);
  Model model({x}, {y, Dense({.units = 1, .name = "c"})(x)},
              {.name = "net", .seed = 4});
  shake(model);
  return model;
}

/// Replaces the layer `name` by the result of `make`.
template <class Make>
NodeRewriter in_place_of(const std::string& name, Make make) {
  return [name, make](const GraphNode& node,
                      Rebuild& rebuild) -> std::optional<SymbolicTensor> {
    if (node.layer->name() != name) return std::nullopt;
    return make(node, rebuild);
  };
}

SymbolicTensor removed(const GraphNode& node, Rebuild& rebuild) {
  return rebuild.at(node.inputs[0]);
}

TEST(Rebuild, ReturnsNothingIfNoNodeIsReplaced) {
  std::vector<std::string> asked;
  const auto result = rebuilt_network().rebuild(
      [&](const GraphNode& node, Rebuild&) -> std::optional<SymbolicTensor> {
        asked.push_back(node.layer->name());
        return std::nullopt;
      });
  EXPECT_FALSE(result.has_value());
  EXPECT_THAT(asked, ElementsAre("a", "relu", "d", "b", "c"));
}

TEST(Rebuild, RemovesALayerAndKeepsTheRest) {
  const Model model = rebuilt_network();
  const Model result = *model.rebuild(in_place_of("d", removed));
  EXPECT_THAT(names(result), ElementsAre("x", "a", "relu", "b", "c"));
  EXPECT_EQ(result.name(), "net");
  EXPECT_EQ(weight_bits(result), weight_bits(model));
  const std::vector<Tensor> x{noise({3, 3})};
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(bits(result.predict(x)[i]), bits(model.predict(x)[i]));
  }
}

TEST(Rebuild, LeavesTheModelUntouched) {
  const Model model = rebuilt_network();
  const auto weights = weight_bits(model);
  const auto layers = names(model);
  const Model result = *model.rebuild(in_place_of("d", removed));
  shake(result, 77);
  EXPECT_EQ(weight_bits(model), weights);
  EXPECT_EQ(names(model), layers);
}

TEST(Rebuild, DropsLayersWithoutConsumers) {
  const Model model = rebuilt_network();
  const Model result =
      *model.rebuild(in_place_of("b", [](const GraphNode&, Rebuild& rebuild) {
        return Dense({.units = 2, .name = "new"})(
            rebuild.at(rebuild.model().inputs()[0]));
      }));
  EXPECT_THAT(names(result), ElementsAre("x", "new", "c"));
}

TEST(Rebuild, InitializesANewLayerByItsName) {
  const Model model = rebuilt_network();
  const auto make = [](const GraphNode& node, Rebuild& rebuild) {
    return Dense({.units = 2, .name = "new"})(rebuild.at(node.inputs[0]));
  };
  const Model result = *model.rebuild(in_place_of("b", make));
  const Model again = *model.rebuild(in_place_of("b", make));
  const Tensor& kernel =
      result.layer("new").parameter("kernel").variable.value();
  EXPECT_GT(absmax(kernel), 0);
  EXPECT_EQ(weight_bits(again), weight_bits(result));
}

TEST(Rebuild, KeepsParametersSetInANewLayer) {
  const std::vector<Tensor> given{counting({4, 2}), counting({2})};
  const Model result = *rebuilt_network().rebuild(
      in_place_of("b", [&](const GraphNode& node, Rebuild& rebuild) {
        const Dense layer({.units = 2, .name = "new"});
        const SymbolicTensor y = layer(rebuild.at(node.inputs[0]));
        layer->set_parameters(given);
        return y;
      }));
  EXPECT_EQ(bits(result.layer("new").parameter("kernel").variable),
            bits(given[0]));
  EXPECT_EQ(bits(result.layer("new").parameter("bias").variable),
            bits(given[1]));
}

TEST(Rebuild, RejectsParametersOfAnotherNumberOrShape) {
  const SymbolicTensor x = input({3});
  const Dense layer({.units = 2, .name = "d"});
  const Model model(x, layer(x));
  const auto failure = [&](const std::vector<Tensor>& values) {
    return failure_of<ShapeError>([&] { layer->set_parameters(values); });
  };
  EXPECT_EQ(failure({counting({3, 2})}),
            (Failure{"count_mismatch", "Dense 'd'"}));
  EXPECT_THAT(failure({counting({3, 3}), counting({2})}).context,
              ElementsAre("in parameter 'kernel'"));
}

TEST(Rebuild, PreservesSharedLayers) {
  const SymbolicTensor x = input({3}, "x");
  const Dense shared({.units = 3, .name = "shared"});
  const Model model(x, shared(ReLU({.name = "relu"})(shared(x))));
  const Model result = *model.rebuild(in_place_of("relu", removed));
  EXPECT_THAT(names(result), ElementsAre("x", "shared"));
  EXPECT_EQ(result.nodes().size(), 3u);
}

TEST(Rebuild, PreservesSharedParameters) {
  const auto called_in = [](Model& model, const std::string& name) {
    const SymbolicTensor x = input({3}, "x");
    return Model(x, model(x), {.name = name});
  };
  const SymbolicTensor inner_x = input({3}, "x");
  Model inner(inner_x, Dense({.units = 3, .name = "d"})(inner_x),
              {.name = "inner"});
  Model first = called_in(inner, "first");
  Model second = called_in(inner, "second");
  const SymbolicTensor x = input({3}, "x");
  const Model model(x, second(ReLU({.name = "relu"})(first(x))));
  ASSERT_EQ(model.parameter_count(), 12);
  const Model result = *model.rebuild(in_place_of("relu", removed));
  EXPECT_THAT(names(result),
              ElementsAre("x", "first/inner/d", "second/inner/d"));
  EXPECT_EQ(result.parameter_count(), 12);
  (void)model.rebuild([](const GraphNode& node,
                         Rebuild& rebuild) -> std::optional<SymbolicTensor> {
    const bool dense = node.layer->class_name() == "Dense";
    EXPECT_EQ(rebuild.stands_alone(*node.layer), !dense);
    return std::nullopt;
  });
}

TEST(Rebuild, PreservesTheFlagsOfLayers) {
  Model model = rebuilt_network();
  model.layer("a").set_trainable(false);
  const Model result = *model.rebuild(in_place_of("d", removed));
  EXPECT_FALSE(result.layer("a").trainable());
  EXPECT_TRUE(result.layer("b").trainable());
}

TEST(Rebuild, CallsACopyOfALayerOnAnotherTensor) {
  const Model model = rebuilt_network();
  const Model result = *model.rebuild(
      in_place_of("relu", [](const GraphNode& node, Rebuild& rebuild) {
        const SymbolicTensor y = rebuild.at(node.inputs[0]);
        return rebuild.call(node, {Activation("tanh", "tanh")(y)});
      }));
  EXPECT_THAT(names(result),
              ElementsAre("x", "a", "tanh", "relu", "d", "b", "c"));
}

TEST(Rebuild, PreservesTheModelOrderAroundANewLayer) {
  const SymbolicTensor x = input({3}, "x");
  const SymbolicTensor a = ReLU({.name = "a"})(x);
  const SymbolicTensor b = ReLU({.name = "b"})(x);
  const SymbolicTensor c = ReLU({.name = "c"})(a);
  const Model model({x}, {b, c});
  // The new layer consumes "a" but takes the position of "c", after "b".
  const Model result = *model.rebuild(
      in_place_of("c", [](const GraphNode& node, Rebuild& rebuild) {
        return Activation("tanh", "new")(rebuild.at(node.inputs[0]));
      }));
  EXPECT_THAT(names(result), ElementsAre("x", "a", "b", "new"));
}

TEST(Rebuild, RejectsATensorOfTheOldModel) {
  const Model model = rebuilt_network();
  const Failure failure = failure_of<ValueError>([&] {
    (void)model.rebuild(in_place_of(
        "d", [](const GraphNode& node, Rebuild&) { return node.inputs[0]; }));
  });
  EXPECT_EQ(failure, (Failure{"invalid_value", "rebuild"}));
}

TEST(Rebuild, RejectsAReplacementOfAnotherShape) {
  const Model model = rebuilt_network();
  const Failure failure = failure_of<ShapeError>([&] {
    (void)model.rebuild(
        in_place_of("d", [](const GraphNode& node, Rebuild& rebuild) {
          return Dense({.units = 5})(rebuild.at(node.inputs[0]));
        }));
  });
  EXPECT_EQ(failure, (Failure{"shape_mismatch", "rebuild"}));
}

TEST(Rebuild, RejectsEmptyAndLaterTensors) {
  const Model model = rebuilt_network();
  EXPECT_THROW(
      (void)model.rebuild(in_place_of(
          "d", [](const GraphNode&, Rebuild&) { return SymbolicTensor{}; })),
      ValueError);
  const Failure failure = failure_of<ValueError>([&] {
    (void)model.rebuild(
        in_place_of("a", [](const GraphNode&, Rebuild& rebuild) {
          return rebuild.at(rebuild.model().outputs()[0]);
        }));
  });
  EXPECT_EQ(failure, (Failure{"invalid_value", "Rebuild::at"}));
}

TEST(Rebuild, RejectsADuplicateName) {
  const Model model = rebuilt_network();
  const Failure failure = failure_of<ValueError>([&] {
    (void)model.rebuild(
        in_place_of("d", [](const GraphNode& node, Rebuild& rebuild) {
          return ReLU({.name = "a"})(rebuild.at(node.inputs[0]));
        }));
  });
  EXPECT_EQ(failure, (Failure{"duplicate_name", "model"}));
}

TEST(Rebuild, CountsUsesAndDetectsSharing) {
  const SymbolicTensor x = input({3}, "x");
  const Dense twice({.units = 3, .name = "twice"});
  const SymbolicTensor a = Dense({.units = 3, .name = "a"})(x);
  const Model model({x}, {a, twice(a), twice(x)});
  std::vector<std::string> seen;
  (void)model.rebuild([&](const GraphNode& node,
                          Rebuild& rebuild) -> std::optional<SymbolicTensor> {
    seen.push_back(fmt::format("{} {} {}", node.layer->name(),
                               rebuild.uses(node),
                               rebuild.stands_alone(*node.layer)));
    return std::nullopt;
  });
  EXPECT_THAT(seen, ElementsAre("a 2 true", "twice 1 false", "twice 1 false"));
}

}  // namespace
}  // namespace octet
