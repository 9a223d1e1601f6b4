#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::Contains;

Model network() {
  const SymbolicTensor x = input({6, 5, 3}, "image");
  const Dense shared({.units = 30, .name = "shared"});
  SymbolicTensor y = Conv2D({.filters = 3, .padding = Padding::same})(x);
  y = Flatten()(MaxPooling2D()(ReLU()(BatchNormalization()(y))));
  y = Dense({.units = 30})(y);
  y = shared(ReLU()(shared(y)));
  Model model(x, Softmax()(y), {.name = "net", .seed = 9});
  shake(model);
  return model;
}

TEST(Clone, CanShareParameters) {
  SymbolicTensor x = input({3});
  const LayerHandle twice = Dense({.units = 3, .name = "twice"});
  const SymbolicTensor y = Dense({.units = 2, .name = "out"})(twice(twice(x)));
  const Model model({x}, {y});
  const Model own = model.clone();
  const Model taken = model.clone({}, Weights::share);
  const auto before = bits(taken.predict(tensor({1, 3}, {1, 2, 3})));
  for (const Parameter& p : model.parameters()) {
    for (float& v : p.variable.mutable_value()) v += 1;
  }
  EXPECT_EQ(bits(own.predict(tensor({1, 3}, {1, 2, 3}))), before);
  EXPECT_EQ(weight_bits(taken), weight_bits(model));
  EXPECT_EQ(taken.parameters().size(), model.parameters().size());
}

TEST(Clone, IsEqualToItsOriginal) {
  const Model model = network();
  const Model copy = model.clone();
  EXPECT_EQ(copy.name(), "net");
  EXPECT_EQ(names(copy), names(model));
  EXPECT_EQ(weight_bits(copy), weight_bits(model));
  for (const auto& layer : model.layers()) {
    EXPECT_EQ(copy.layer(layer->name()).config(), layer->config());
    EXPECT_EQ(copy.layer(layer->name()).class_name(), layer->class_name());
  }
  const Tensor x = noise({9, 6, 5, 3});
  EXPECT_EQ(bits(copy.predict(x)), bits(model.predict(x)));
  EXPECT_EQ(copy.summary(), model.summary());
}

TEST(Clone, SharesNothingWithItsOriginal) {
  const Model model = network();
  Model copy = model.clone();
  const auto before = weight_bits(model);
  const Tensor x = noise({3, 6, 5, 3});
  const auto answer = bits(model.predict(x));
  shake(copy, 99);
  (void)copy(Variable(x), Mode::training).value();
  EXPECT_EQ(weight_bits(model), before);
  EXPECT_EQ(bits(model.predict(x)), answer);
  EXPECT_NE(weight_bits(copy), before);
  for (const auto& layer : model.layers()) {
    EXPECT_NE(&copy.layer(layer->name()), layer.get());
  }
}

TEST(Clone, PreservesSharedLayers) {
  const Model model = network();
  const Model copy = model.clone();
  EXPECT_EQ(copy.nodes().size(), model.nodes().size());
  EXPECT_EQ(copy.layers().size(), model.layers().size());
  EXPECT_EQ(copy.parameter_count(), model.parameter_count());
}

TEST(Clone, PreservesTheOrderOfInputsAndOutputs) {
  const SymbolicTensor a = input({2}, "a");
  const SymbolicTensor b = input({3}, "b");
  const Model model({b, a}, {ReLU()(a), ReLU()(b), a});
  const Model copy = model.clone();
  EXPECT_EQ(copy.inputs()[0].shape(), Shape({Shape::kAnySize, 3}));
  EXPECT_EQ(copy.inputs()[1].shape(), Shape({Shape::kAnySize, 2}));
  EXPECT_EQ(copy.outputs()[0].shape(), Shape({Shape::kAnySize, 2}));
  EXPECT_EQ(copy.outputs()[2].node, copy.inputs()[1].node);
}

TEST(Clone, OutlivesItsOriginal) {
  const Tensor x = noise({2, 6, 5, 3});
  std::vector<uint32_t> expected;
  const Model copy = [&] {
    const Model model = network();
    expected = bits(model.predict(x));
    return model.clone();
  }();
  EXPECT_EQ(bits(copy.predict(x)), expected);
}

/// A user-defined class with a statistic, whose clone() ignores it.
class Counting final : public Layer {
 public:
  std::string class_name() const override { return "Counting"; }
  Config config() const override { return Config(Config::Object()); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  void build(std::span<const Shape>) override {
    add_parameter("count", {1}, {.trainable = false});
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return inputs[0];
  }
  std::shared_ptr<Layer> clone(CloneContext&) const override {
    auto copy = std::make_shared<Counting>();
    copy->set_name(name());
    return copy;
  }
  LayerFacts facts(std::span<const Shape> inputs) const override {
    LayerFacts facts = Layer::facts(inputs);
    facts.statistics = true;
    return facts;
  }
};

TEST(Clone, PreservesFrozenStatisticsOfEveryClass) {
  const SymbolicTensor x = input({3});
  const LayerHandle counting(std::make_shared<Counting>());
  counting->set_name("count");
  Model model(x, BatchNormalization({.name = "bn"})(counting(x)));
  for (const bool frozen : {true, false}) {
    for (const auto& layer : model.layers()) layer->freeze_statistics(frozen);
    const Model copy = model.clone();
    const Model rewritten =
        model.clone([](const Layer& layer, CloneContext& context) {
          if (layer.name() != "bn") return layer.clone(context);
          const auto made = create_layer(layer.class_name(), layer.config());
          made->set_name(layer.name());
          return made;
        });
    for (const Model* each : {&copy, &rewritten}) {
      EXPECT_EQ(each->layer("bn").statistics_frozen(), frozen);
      EXPECT_EQ(each->layer("count").statistics_frozen(), frozen);
    }
  }
}

TEST(Clone, RewritesEachLayerOnce) {
  const Model model = network();
  std::vector<std::string> seen;
  const Model copy =
      model.clone([&](const Layer& layer, CloneContext& context) {
        seen.push_back(layer.name());
        if (layer.name() != "re_lu") return layer.clone(context);
        const auto six = create_layer("ReLU", Config().set("max_value", 6));
        six->set_name("six");
        return six;
      });
  EXPECT_EQ(seen, names(model));
  EXPECT_EQ(copy.layer("six").config().at("max_value").as_number(), 6.0);
  EXPECT_TRUE(model.layer("re_lu").config().at("max_value").is_null());
  EXPECT_THROW(copy.layer("re_lu"), NotFoundError);
}

TEST(Clone, RejectsARewriteWithOtherParameters) {
  const SymbolicTensor x = input({3});
  const Model model(x, Dense({.units = 3, .name = "d"})(x));
  const auto failure = [&](const Config& config) {
    return failure_of<ShapeError>([&] {
      (void)model.clone([&](const Layer& layer, CloneContext& context) {
        if (layer.name() != "d") return layer.clone(context);
        const auto copy = create_layer("Dense", config);
        copy->set_name("d");
        return copy;
      });
    });
  };
  EXPECT_EQ(failure(Config().set("units", 3).set("use_bias", false)),
            (Failure{"count_mismatch", "Dense 'd'"}));
  EXPECT_THAT(failure(Config().set("units", 4)).context,
              Contains("in parameter 'kernel'"));
}

TEST(CloneContext, CopiesASharedObjectOnce) {
  CloneContext context;
  const int object = 7;
  const int other = 8;
  const auto copy = [&](const int& original) {
    return context.shared(original,
                          [&] { return std::make_shared<int>(original); });
  };
  const auto first = copy(object);
  EXPECT_EQ(*first, 7);
  EXPECT_EQ(copy(object), first);
  EXPECT_NE(copy(other), first);
}

TEST(Clone, RejectsARewriterThatReturnsNull) {
  const SymbolicTensor x = input({3});
  const Model model(x, Dense({.units = 2})(x));
  EXPECT_THROW((void)model.clone([](const Layer&, CloneContext&) {
    return std::shared_ptr<Layer>();
  }),
               ValueError);
  EXPECT_THROW((void)call(nullptr, {}), ValueError);
}

}  // namespace
}  // namespace octet
