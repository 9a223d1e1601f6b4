#include <algorithm>
#include <map>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "user_layers.h"

namespace octet {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

std::vector<std::string> classes() {
  std::vector<std::string> result;
  for (const LayerDef* def : layer_defs()) {
    result.emplace_back(def->class_name);
  }
  return result;
}

const std::vector<std::string> kBuiltIn{
    "BatchNormalization", "Conv2D",       "Dense", "Flatten",
    "InputLayer",         "MaxPooling2D", "ReLU",  "Softmax"};

TEST(Registry, ListsEveryClassInAlphabeticalOrder) {
  const auto all = classes();
  ASSERT_GE(all.size(), kBuiltIn.size());
  std::vector<std::string> found;
  for (const std::string& name : all) {
    if (std::ranges::find(kBuiltIn, name) != kBuiltIn.end()) {
      found.push_back(name);
    }
  }
  EXPECT_EQ(found, kBuiltIn);
}

TEST(Registry, FindsAClassByItsExactName) {
  ASSERT_NE(find_layer_def("Conv2D"), nullptr);
  EXPECT_EQ(find_layer_def("Conv2D")->class_name, "Conv2D");
  EXPECT_EQ(find_layer_def("conv2d"), nullptr);
  EXPECT_EQ(find_layer_def("Conv2"), nullptr);
  EXPECT_EQ(find_layer_def(""), nullptr);
}

TEST(Registry, FindsAClassByItsAliases) {
  const std::map<std::string_view, std::string_view> names{
      {"MaxPool2D", "MaxPooling2D"},
      {"AvgPool2D", "AveragePooling2D"},
      {"GlobalMaxPool2D", "GlobalMaxPooling2D"},
      {"GlobalAvgPool2D", "GlobalAveragePooling2D"},
      {"Convolution2D", "Conv2D"},
      {"BatchNormalizationV1", "BatchNormalization"},
      {"Custom>Conv2D", "Conv2D"},
      {"pkg>MaxPool2D", "MaxPooling2D"}};
  for (const auto& [name, canonical] : names) {
    EXPECT_EQ(canonical_class_name(name), canonical) << name;
    EXPECT_NE(find_layer_def(canonical_class_name(name)), nullptr) << name;
  }
  for (const LayerDef* def : layer_defs()) {
    EXPECT_EQ(canonical_class_name(def->class_name), def->class_name);
  }
  EXPECT_EQ(canonical_class_name("Nonsense"), "Nonsense");
  EXPECT_EQ(canonical_class_name("pkg>"), "");
  EXPECT_EQ(canonical_class_name(""), "");
}

TEST(Registry, ListsTheClassesQuantizedByDefault) {
  const std::map<std::string_view, std::string_view> weights{
      {"AveragePooling1D", ""},
      {"AveragePooling2D", ""},
      {"Conv1D", "kernel"},
      {"Conv2D", "kernel"},
      {"Conv2DTranspose", "kernel"},
      {"Dense", "kernel"},
      {"DepthwiseConv1D", "depthwise_kernel"},
      {"DepthwiseConv2D", "depthwise_kernel"},
      {"GlobalAveragePooling1D", ""},
      {"GlobalAveragePooling2D", ""},
      {"SeparableConv1D", "depthwise_kernel"},
      {"SeparableConv2D", "depthwise_kernel"}};
  for (const LayerDef* def : layer_defs()) {
    const auto quantized = weights.find(def->class_name);
    EXPECT_EQ(def->qdq.enabled, quantized != weights.end()) << def->class_name;
    EXPECT_EQ(def->qdq.weight,
              quantized == weights.end() ? "" : quantized->second)
        << def->class_name;
  }
}

TEST(Registry, RejectsAnUnknownClass) {
  const Failure failure =
      failure_of<UnsupportedError>([] { create_layer("Conv2d", Config()); });
  EXPECT_EQ(failure, (Failure{"unsupported_layer", "layer class 'Conv2d'"}));
}

TEST(Registry, ErrorsNameTheFieldOfTheConfiguration) {
  const auto failure = [](const Config& entry) {
    return failure_of<ValueError>([&] {
      create_layer("Conv2D", Config().set("filters", 1).set("padding", entry));
    });
  };
  EXPECT_EQ(failure("full"), (Failure{"invalid_value", "padding"}));
  EXPECT_THAT(failure(3).context,
              ElementsAre("in field 'padding'", "in configuration of Conv2D"));
}

TEST(Registry, RejectsSizesOtherThanTwoIntegers) {
  const auto failure = [](Config::List sizes) {
    return failure_of<ValueError>([&] {
      create_layer(
          "Conv2D",
          Config().set("filters", 1).set("strides", Config(std::move(sizes))));
    });
  };
  EXPECT_EQ(failure({1}), (Failure{"count_mismatch", "strides"}));
  EXPECT_EQ(failure({1, 1, 1}), (Failure{"count_mismatch", "strides"}));
  EXPECT_THAT(failure({1, 1.5}).context, Contains("in field 'strides'"));
  EXPECT_EQ(failure({1, 0}), (Failure{"out_of_range", "strides"}));
}

TEST(Registry, RejectsAConfigurationOutOfRange) {
  EXPECT_EQ(
      failure_of<ValueError>([] { create_layer("Dense", Config::Object()); }),
      (Failure{"out_of_range", "units"}));
}

TEST(Registry, IgnoresEntriesOfOtherVersions) {
  const Config config =
      Config().set("units", 3).set("kernel_regularizer", Config());
  EXPECT_EQ(create_layer("Dense", config)->config().at("units").as_int(), 3);
}

TEST(Registry, CreatesUnnamedLayersThatAreNotBuilt) {
  const auto layer = create_layer("Dense", Config().set("units", 3));
  EXPECT_EQ(layer->name(), "");
  EXPECT_FALSE(layer->built());
  EXPECT_TRUE(layer->parameters().empty());
}

TEST(Registry, AcceptsAUserDefinedClass) {
  register_offset();
  EXPECT_EQ(find_layer_def("UserOffset"), &offset_def);
  EXPECT_EQ(classes().back(), "UserOffset");
  const auto layer = create_layer("UserOffset", Config().set("start", 2.5));
  EXPECT_EQ(layer->config().at("start").as_number(), 2.5);
}

TEST(Registry, RejectsADuplicateClass) {
  register_offset();
  EXPECT_EQ(failure_of<ValueError>([] { register_layer(offset_def); }),
            (Failure{"duplicate_name", "register_layer"}));
  static const LayerDef again{.class_name = "Dense",
                              .create = offset_def.create};
  EXPECT_THROW(register_layer(again), ValueError);
  EXPECT_EQ(std::ranges::count(classes(), "UserOffset"), 1);
  EXPECT_EQ(std::ranges::count(classes(), "Dense"), 1);
}

TEST(Registry, AUserDefinedClassRunsInAModel) {
  register_offset();
  const SymbolicTensor x = input({2});
  const Model model(x, Offset(0.5f)(Offset(10)(x)));
  EXPECT_EQ(names(model), (std::vector<std::string>{
                              "input_layer", "user_offset", "user_offset_1"}));
  EXPECT_EQ(model.parameter_count(), 4);
  EXPECT_EQ(values(model.predict(tensor({2, 2}, {1, 2, 3, 4}))),
            (std::vector<float>{11.5f, 12.5f, 13.5f, 14.5f}));
}

TEST(Registry, AUserDefinedClassIsClonedWithItsWeights) {
  register_offset();
  const SymbolicTensor x = input({2});
  const Model model(x, Offset(1)(x));
  model.layer("user_offset")
      .parameter("offset")
      .variable.assign(tensor({2}, {7, 8}));
  const Model copy = model.clone();
  EXPECT_EQ(values(copy.predict(tensor({1, 2}, {0, 0}))),
            (std::vector<float>{7, 8}));
}

TEST(Registry, ReturnsTheRoleOfALayer) {
  EXPECT_EQ(Dense({.units = 1})->facts().role, LayerRole::linear);
  EXPECT_EQ(FailingLayer().facts().role, LayerRole::other);  // not registered
}

TEST(Registry, LayersOfRoleIdentityAreIdentitiesInInference) {
  class Jitter final : public Plain {
   public:
    std::string class_name() const override { return "UserJitter"; }
  };
  static const LayerDef def{
      .class_name = "UserJitter",
      .create = [](const Config&) -> std::shared_ptr<Layer> {
        return std::make_shared<Jitter>();
      },
      .role = LayerRole::identity,
  };
  EXPECT_EQ(Jitter().facts().identity, Identity::never);
  register_layer(def);
  EXPECT_EQ(Jitter().facts().identity, Identity::in_inference);
}

TEST(Registry, AnUnregisteredClassRunsButCannotBeCloned) {
  class Nameless final : public Plain {
   public:
    std::string class_name() const override { return "UserNameless"; }
  };
  const SymbolicTensor x = input({2});
  const Model model(x, LayerHandle(std::make_shared<Nameless>())(x));
  EXPECT_EQ(values(model.predict(tensor({1, 2}, {3, 4}))),
            (std::vector<float>{3, 4}));
  EXPECT_EQ(failure_of<UnsupportedError>([&] { (void)model.clone(); }),
            (Failure{"unsupported_layer", "layer class 'UserNameless'"}));
}

}  // namespace
}  // namespace octet
