// What holds for every class in the registry, now and later.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

/// The entries a class cannot do without.
Config minimal_config(std::string_view class_name) {
  static const std::map<std::string_view, Config> needed{
      {"Conv2D", Config().set("filters", 2)},
      {"Dense", Config().set("units", 2)},
      {"InputLayer", Config().set("shape", Config::List{4, 6, 3})},
  };
  const auto found = needed.find(class_name);
  return found == needed.end() ? Config(Config::Object()) : found->second;
}

template <class Check>
void for_each_class(Check check) {
  register_offset();
  for (const LayerDef* def : layer_defs()) {
    SCOPED_TRACE(def->class_name);
    check(*def);
  }
}

TEST(EveryLayerClass, IsCreatedFromAMinimalConfigurationUnderItsName) {
  for_each_class([](const LayerDef& def) {
    const auto layer =
        create_layer(def.class_name, minimal_config(def.class_name));
    ASSERT_NE(layer, nullptr);
    EXPECT_EQ(layer->class_name(), def.class_name);
    EXPECT_EQ(layer->name(), "");
  });
}

TEST(EveryLayerClass, ComesBackFromItsConfiguration) {
  for_each_class([](const LayerDef& def) {
    const auto layer =
        create_layer(def.class_name, minimal_config(def.class_name));
    ASSERT_TRUE(layer->config().is_object());
    const auto again = create_layer(def.class_name, layer->config());
    EXPECT_EQ(again->config(), layer->config());
  });
}

TEST(EveryLayerClass, KeepsTheEntriesItWasCreatedFrom) {
  for_each_class([](const LayerDef& def) {
    const Config minimal = minimal_config(def.class_name);
    const auto layer = create_layer(def.class_name, minimal);
    for (const auto& [name, value] : minimal.as_object()) {
      EXPECT_EQ(layer->config().at(name), value) << name;
    }
  });
}

TEST(EveryLayerClass, IsClonedUnderItsNameAndNotBuilt) {
  for_each_class([](const LayerDef& def) {
    const auto layer =
        create_layer(def.class_name, minimal_config(def.class_name));
    layer->set_name("original");
    const Shape x{Shape::kAnySize, 4, 6, 3};
    layer->build_once(std::span(&x, 1));
    CloneContext context;
    const auto copy = layer->clone(context);
    EXPECT_NE(copy, layer);
    EXPECT_EQ(copy->name(), "original");
    EXPECT_EQ(copy->class_name(), def.class_name);
    EXPECT_EQ(copy->config(), layer->config());
    EXPECT_FALSE(copy->built());
  });
}

TEST(EveryLayerClass, GivesTheShapeItPromises) {
  for_each_class([](const LayerDef& def) {
    const auto layer =
        create_layer(def.class_name, minimal_config(def.class_name));
    const SymbolicTensor x = input({4, 6, 3});
    if (def.class_name == "InputLayer") return;
    const Model model(x, call(layer, {x}));
    const NoGradGuard no_grad;
    const Variable y = model(Variable(noise({2, 4, 6, 3})));
    EXPECT_EQ(y.shape(), model.outputs()[0].shape().with(0, 2));
  });
}

TEST(EveryLayerClass, NamesTheParameterItQuantizes) {
  for_each_class([](const LayerDef& def) {
    if (def.qdq.weight.empty()) return;
    const auto layer =
        create_layer(def.class_name, minimal_config(def.class_name));
    const Shape x{Shape::kAnySize, 4, 6, 3};
    layer->build_once(std::span(&x, 1));
    EXPECT_NO_THROW(layer->parameter(def.qdq.weight));
  });
}

TEST(EveryLayerClass, NamesItselfWhereItsOptionsAreRefused) {
  const auto text = [](auto make) { return error_of<ValueError>(make); };
  EXPECT_THAT(text([] { (void)Conv2D({.filters = 0, .name = "stem"}); }),
              HasSubstr("'stem' (Conv2D)"));
  EXPECT_THAT(text([] { (void)Dense({.units = 0, .name = "logits"}); }),
              HasSubstr("'logits' (Dense)"));
  EXPECT_THAT(
      text([] { (void)BatchNormalization({.momentum = 2, .name = "bn"}); }),
      HasSubstr("'bn' (BatchNormalization)"));
  EXPECT_THAT(text([] {
                (void)MaxPooling2D({.pool_size = {0, 1}, .name = "pool"});
              }),
              HasSubstr("'pool' (MaxPooling2D)"));
  EXPECT_THAT(text([] { (void)ReLU({.max_value = 0, .name = "clip"}); }),
              HasSubstr("'clip' (ReLU)"));
}

}  // namespace
}  // namespace octet
