// What placement refuses, and what it warns of instead when told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "toolkit_table.h"

namespace octet::quant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const SpecOptions kOff{.quantize_input = false, .quantize_weight = false};
const SpecOptions kClass{.is_keras_class = true};
const SpecOptions kPattern{.is_regex = true};

SpecOptions index(std::vector<int> indices) {
  return {.quantization_index = std::move(indices)};
}

Model net() {
  const SymbolicTensor x = input({6, 6, 4}, "image");
  SymbolicTensor y =
      Conv2D({.filters = 4, .padding = Padding::same, .name = "conv_1"})(x);
  y = Add({.name = "add"})({ReLU({.name = "relu"})(y), x});
  return Model(x, Conv2D({.filters = 3, .name = "conv_2"})(y), {.name = "net"});
}

QuantizeOptions asking(QuantizationSpec spec) {
  return {.spec = std::move(spec), .policy = Policy::toolkit};
}

/// The E with which a spec is refused.
template <class E>
std::string refusal(QuantizationSpec spec) {
  return error_of<E>([&] { (void)place(net(), asking(std::move(spec))); });
}

/// The same spec placed with a warning, which has that text in it.
Placement warned(const QuantizationSpec& spec, const std::string& text) {
  const WarningsKept warnings;
  QuantizeOptions options = asking(spec);
  options.on_unknown = OnUnknown::warn;
  Placement placement = place(net(), options);
  EXPECT_THAT(warnings.messages, ElementsAre(HasSubstr(text)));
  return placement;
}

QdqPlan defaults() { return place(net(), asking({})).plan; }

TEST(PlaceRefuses, AnUnknownLayerAndListsNearNames) {
  const std::string text =
      "'conv_3' in 'net'; did you mean 'conv_1' or 'conv_2'?";
  EXPECT_THAT(refusal<NotFoundError>(spec_of("conv_3")), HasSubstr(text));
  EXPECT_EQ(warned(spec_of("conv_3"), text).plan, defaults());
  EXPECT_THAT(refusal<NotFoundError>(spec_of("quant_conv_1")),
              HasSubstr("there are 'image', 'conv_1'"));
  EXPECT_THAT(refusal<NotFoundError>(spec_of("Conv_1", kOff)),
              HasSubstr("did you mean 'conv_1'"));
}

TEST(PlaceRefuses, AClassThatIsNamedAsALayer) {
  EXPECT_THAT(refusal<NotFoundError>(spec_of("Add")),
              AllOf(HasSubstr("'Add' in 'net'"), HasSubstr("is_keras_class")));
}

TEST(PlaceRefuses, AnUnknownClassAndListsNearOnes) {
  const std::string text = "got 'Conv2'; did you mean 'Conv2D' or 'Conv1D'?";
  EXPECT_THAT(refusal<UnsupportedError>(spec_of("Conv2", kClass)),
              HasSubstr(text));
  EXPECT_EQ(warned(spec_of("Conv2", kClass), text).plan, defaults());
  EXPECT_THAT(refusal<UnsupportedError>(spec_of("conv_1", kClass)),
              HasSubstr("expected a layer class, got 'conv_1'"));
}

TEST(PlaceRefuses, AClassWithoutAWrapper) {
  const std::string text = "got ReLU; register_wrapper";
  EXPECT_THAT(refusal<UnsupportedError>(spec_of("ReLU", kClass)),
              HasSubstr(text));
  EXPECT_EQ(warned(spec_of("ReLU", kClass), text).plan, defaults());
}

TEST(PlaceRefuses, ALayerWithoutAWrapper) {
  const std::string text = "got 'relu' (ReLU); register_wrapper";
  EXPECT_THAT(refusal<UnsupportedError>(spec_of("relu")), HasSubstr(text));
  EXPECT_EQ(warned(spec_of("relu"), text).plan, defaults());
  EXPECT_THAT(refusal<UnsupportedError>(spec_of("image")),
              HasSubstr("got 'image' (InputLayer)"));
}

TEST(PlaceRefuses, APatternOfNoLayerOrOfNoneThatCanBeQuantized) {
  const std::string text =
      "'conv' in 'net'; did you mean 'conv_1' or 'conv_2'?";
  EXPECT_THAT(refusal<NotFoundError>(spec_of("conv", kPattern)),
              HasSubstr(text));
  EXPECT_EQ(warned(spec_of("conv", kPattern), text).plan, defaults());
  EXPECT_THAT(refusal<UnsupportedError>(spec_of("r.*", kPattern)),
              HasSubstr("'r.*' in 'net'; register_wrapper"));
}

TEST(Place, LetsAPatternMatchMoreThanCanBeQuantized) {
  EXPECT_EQ(place(net(), asking(spec_of(".*", kPattern))).plan.points.size(),
            6u);
}

TEST(Place, SwitchesOffWhatHasNoWrapper) {
  QuantizationSpec spec = spec_of("relu", kOff);
  spec.add("Softmax", {.is_keras_class = true,
                       .quantize_input = false,
                       .quantize_weight = false});
  const Placement placement = place(net(), asking(spec));
  EXPECT_EQ(placement.plan, defaults());
  EXPECT_THAT(placement.notes,
              ElementsAre(PlacementNote{PlacementNote::Kind::skipped, "relu",
                                        "user", "asks for nothing"}));
}

TEST(PlaceRefuses, AnIndexThatALayerDoesNotHave) {
  const auto names_it =
      HasSubstr("'add' (Add): expected quantization_index in [0,2), got 2");
  EXPECT_THAT(refusal<ValueError>(spec_of("add", index({2}))), names_it);
  EXPECT_THAT(
      refusal<ValueError>(spec_of(
          "Add", {.is_keras_class = true, .quantization_index = {0, 2}})),
      names_it);
  EXPECT_THAT(refusal<ValueError>(spec_of("conv_1", index({1}))),
              HasSubstr("expected quantization_index in [0,1), got 1"));
  EXPECT_THAT(refusal<ValueError>(
                  spec_of(".*", {.is_regex = true, .quantization_index = {1}})),
              HasSubstr("in layer 'conv_1' (Conv2D): expected quantization"));
}

TEST(Place, LeavesOutTheIndicesItWarnsOf) {
  const auto text = [](const std::string& layer, int inputs, int got) {
    return fmt::format("{}: expected quantization_index in [0,{}), got {}",
                       layer, inputs, got);
  };
  const auto sites = [](const Placement& placement, const std::string& layer) {
    std::vector<std::string> result;
    for (const QdqPoint& point : placement.plan.points) {
      if (point.layer == layer) result.push_back(to_string(point.site));
    }
    return result;
  };
  EXPECT_THAT(
      sites(warned(spec_of("add", index({7, 1})), text("'add' (Add)", 2, 7)),
            "add"),
      ElementsAre("input 1"));
  const Placement none =
      warned(spec_of("add", index({2})), text("'add' (Add)", 2, 2));
  EXPECT_THAT(sites(none, "add"), IsEmpty());
  EXPECT_THAT(none.notes, ElementsAre(PlacementNote{
                              PlacementNote::Kind::skipped, "add", "user",
                              "asks for inputs that there are not"}));
  EXPECT_THAT(sites(warned(spec_of("conv_1", index({5})),
                           text("'conv_1' (Conv2D)", 1, 5)),
                    "conv_1"),
              ElementsAre("kernel"));
}

TEST(PlaceRefuses, EachUnknownNameOfASpecWithAWarningOfItsOwn) {
  const WarningsKept warnings;
  QuantizationSpec spec;
  spec.add({"a", "b"});
  spec.add("C", kClass);
  QuantizeOptions options = asking(spec);
  options.on_unknown = OnUnknown::warn;
  EXPECT_EQ(place(net(), options).plan, defaults());
  EXPECT_THAT(warnings.messages, ElementsAre(HasSubstr("'a'"), HasSubstr("'b'"),
                                             HasSubstr("'C'")));
}

/// Names a layer that is not there, or fails.
class BadCase : public CustomQDQInsertionCase {
 public:
  explicit BadCase(bool fails) : fails_(fails) {}
  std::string name() const override { return "Bad"; }
  QuantizationSpec case_(const Model&, const QuantizationSpec&) const override {
    if (fails_) throw ValueError("threshold: expected a number > 0, got 0");
    return spec_of("missing");
  }

 private:
  bool fails_;
};

TEST(PlaceRefuses, WhatACaseGetsWrongUnderItsName) {
  const auto text = [](auto kind, bool fails) {
    return error_of<decltype(kind)>([&] {
      (void)place(net(),
                  {.cases = {BadCase(fails)}, .policy = Policy::toolkit});
    });
  };
  EXPECT_THAT(text(NotFoundError(""), false),
              HasSubstr("case Bad: expected a layer 'missing' in 'net'"));
  EXPECT_THAT(text(ValueError(""), true),
              AllOf(HasSubstr("threshold: expected a number > 0, got 0"),
                    HasSubstr("in case Bad")));
}

TEST(PlaceRefuses, PartialModeWhereNobodyListsALayer) {
  const auto text = [](std::vector<InsertionCase> cases) {
    return error_of<ValueError>([&] {
      (void)place(net(), {.mode = QuantizationMode::partial,
                          .cases = std::move(cases),
                          .policy = Policy::toolkit});
    });
  };
  EXPECT_THAT(text({}), HasSubstr("partial mode"));
  EXPECT_THAT(text({MaxPoolQDQCase(), InceptionQDQCase()}),
              HasSubstr("partial mode"));
}

TEST(PlaceRefuses, AQuantizedModel) {
  const Model quantized = quantize_model(net(), asking({}));
  EXPECT_THAT(
      error_of<ValueError>([&] { (void)place(quantized, asking({})); }),
      HasSubstr("expected a float model, got 'net', which is quantized"));
}

TEST(QuantizeModel, RefusesASpecThatLeavesNothing) {
  QuantizeOptions options = asking(spec_of("conv_1", kOff));
  options.mode = QuantizationMode::partial;
  EXPECT_TRUE(place(net(), options).plan.points.empty());
  EXPECT_THAT(
      error_of<ValueError>([&] { (void)quantize_model(net(), options); }),
      HasSubstr("expected layers that can be quantized in 'net', got "
                "none"));
}

}  // namespace
}  // namespace octet::quant
