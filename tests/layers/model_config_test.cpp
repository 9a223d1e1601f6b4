// Conversion of graphs to configurations and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/detail/load_limits.h>
#include <octet/layers/model.h>

#include "../facts.h"
#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

void copy_all(const Model& from, Model& to) {
  ASSERT_EQ(from.layers().size(), to.layers().size());
  for (const auto& layer : from.layers()) {
    to.layer(layer->name()).copy_parameters(*layer);
  }
}

Model branches() {
  const SymbolicTensor a = input({6, 5, 2}, "a");
  const SymbolicTensor b = input({6, 5, 2}, "b");
  const Conv2D shared({.filters = 3, .name = "shared"});
  SymbolicTensor x = Add()({shared(b), shared(a)});
  x = Dropout({.rate = 0.5f})(BatchNormalization()(x));
  Model model({b, a}, {Dense({.units = 2})(Flatten()(x)), x, b},
              {.name = "branches", .seed = UINT64_MAX - 5});
  shake(model);
  return model;
}

TEST(ModelConfig, RoundTripsAModel) {
  Model model = branches();
  const Config config = to_config(model);
  Model made = model_from_config(config);
  EXPECT_EQ(to_config(made), config);
  EXPECT_EQ(made.name(), "branches");
  EXPECT_EQ(made.seed(), UINT64_MAX - 5);
  EXPECT_EQ(names(made), names(model));
  EXPECT_EQ(made.summary(), model.summary());
  copy_all(model, made);
  const Tensor inputs[] = {noise({3, 6, 5, 2}, 1), noise({3, 6, 5, 2}, 2)};
  const auto expected = model.predict(inputs);
  const auto outputs = made.predict(inputs);
  ASSERT_EQ(outputs.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(bits(outputs[i]), bits(expected[i]));
  // Dropout's random streams depend on the order of the nodes.
  const Variable x[] = {Variable(inputs[0]), Variable(inputs[1])};
  EXPECT_EQ(bits(made(x, Mode::training)[1]),
            bits(model(x, Mode::training)[1]));
}

TEST(ModelConfig, InitializesWeightsBySeedAndName) {
  const auto fresh = [] {
    const SymbolicTensor x = input({4}, "x");
    return Model(x, Dense({.units = 3, .name = "d"})(x), {.seed = 5});
  };
  EXPECT_EQ(weight_bits(model_from_config(to_config(fresh()))),
            weight_bits(fresh()));
}

TEST(ModelConfig, PreservesSharedParameters) {
  const SymbolicTensor a = input({4}, "a");
  Model encoder(a, Dense({.units = 4, .name = "d"})(a), {.name = "encoder"});
  const SymbolicTensor x = input({4}, "x");
  const SymbolicTensor y = input({4}, "y");
  Model other(y, Dense({.units = 4, .name = "d"})(y), {.name = "other"});
  const Model model(x, encoder(other(encoder(x))));
  const Config config = to_config(model);
  const Model made = model_from_config(config);
  EXPECT_EQ(made.parameter_count(), model.parameter_count());
  EXPECT_EQ(to_config(made), config);

  // The same layer under two names, in a graph that calls a model and its
  // layer.
  const SymbolicTensor z = input({4}, "z");
  const Model both(z, encoder.layers()[1]->built()
                          ? encoder(call(encoder.layers()[1], {z}))
                          : z);
  const Config of_both = to_config(both);
  EXPECT_EQ(of_both.at("layers").as_list().back().at("shares"), Config("d"));
  const Model again = model_from_config(of_both);
  EXPECT_EQ(again.parameter_count(), 20);
  EXPECT_EQ(to_config(again), of_both);
  Tensor kernel = noise({4, 4});
  again.layer("d").parameter("kernel").variable.assign(kernel);
  EXPECT_EQ(bits(again.layer("encoder/d").parameter("kernel").variable.value()),
            bits(kernel));
}

TEST(ModelConfig, SupportsUserDefinedLayers) {
  register_offset();
  const SymbolicTensor x = input({4}, "x");
  const Model model(x, Offset(2.5f, "shift")(x));
  const Model made = model_from_config(to_config(model));
  EXPECT_EQ(weight_bits(made), weight_bits(model));
}

TEST(ModelConfig, NamesAllUnknownLayers) {
  const SymbolicTensor x = input({4}, "x");
  const Model model(x, Sum("two")({Sum("one")({x, x}), x}));
  const Failure failure = failure_of<UnsupportedError>(
      [&] { (void)model_from_config(to_config(model)); });
  EXPECT_EQ(failure, (Failure{"unsupported_layer", "layers"}));
  EXPECT_THAT(failure.message,
              testing::HasSubstr("'one' (UserSum), 'two' (UserSum)"));
}

TEST(ModelConfig, SerializesLayersThroughAView) {
  const SymbolicTensor x = input({4}, "x");
  const Model model(x, Dense({.units = 4, .name = "d"})(x));
  const Dense stand_in({.units = 4, .name = "e"});
  const Config config =
      to_config(model, [&](const Layer& layer) -> const Layer& {
        return layer.name() == "d" ? *stand_in : layer;
      });
  EXPECT_EQ(config.at("layers").as_list()[1].at("name"), Config("e"));
  EXPECT_EQ(config.at("calls").as_list()[1].at("layer"), Config("e"));
}

TEST(ParameterLimit, RejectsExcessBeforeAllocation) {
  const ParameterLimit limit(30);
  const SymbolicTensor x = input({4}, "x");
  (void)Dense({.units = 5})(x);  // 25
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dense({.units = int64_t{1} << 30, .name = "large"})(x);
            }),
            (Failure{"size_limit", "parameters"}));
  {
    const ParameterLimit inner(100);
    const Failure failure =
        failure_of<ValueError>([&] { (void)Dense({.units = 2})(x); });
    EXPECT_EQ(failure, (Failure{"size_limit", "parameters"}));
    EXPECT_THAT(numbers_in(failure.text()),
                ElementsAre(4, 2, 5));  // [4,2], left
  }
  (void)Dense({.units = 1})(x);  // exactly the remaining five
}

TEST(ParameterLimit, EndsWithItsScope) {
  const SymbolicTensor x = input({4}, "x");
  { const ParameterLimit limit(0); }
  EXPECT_EQ(Dense({.units = 2})(x).shape(), Shape({Shape::kAnySize, 2}));
}

}  // namespace
}  // namespace octet
