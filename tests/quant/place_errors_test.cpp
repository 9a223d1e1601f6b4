// Errors of placement, or warnings if requested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"
#include "toolkit_table.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
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

/// Failures of the user's spec.
const Failure kUnknown{"unknown_name", "user spec"};
const Failure kNoClass{"unsupported_layer", "user spec"};
const Failure kOutOfRange{"out_of_range", "user spec"};
const Failure kIndex{"out_of_range", "user spec"};

/// Returns the failure of placing a spec.
template <class E>
Failure refusal(QuantizationSpec spec) {
  return failure_of<E>([&] { (void)place(net(), asking(std::move(spec))); });
}

/// Places the same spec with a warning, which contains `text`.
Placement warned(const QuantizationSpec& spec, const Failure& warning,
                 const std::string& text) {
  const WarningCapture warnings;
  QuantizeOptions options = asking(spec);
  options.on_unknown = OnUnknown::warn;
  Placement placement = place(net(), options);
  EXPECT_THAT(warnings.messages, ElementsAre(warning));
  EXPECT_THAT(warnings.messages.at(0).message, HasSubstr(text));
  return placement;
}

QdqPlan defaults() { return place(net(), asking({})).plan; }

TEST(PlaceRefuses, AnUnknownLayer) {
  EXPECT_EQ(refusal<NotFoundError>(spec_of("conv_3")), kUnknown);
  EXPECT_EQ(warned(spec_of("conv_3"), kUnknown, "'conv_3'").plan, defaults());
  EXPECT_EQ(refusal<NotFoundError>(spec_of("quant_conv_1")), kUnknown);
  EXPECT_EQ(refusal<NotFoundError>(spec_of("Conv_1", kOff)), kUnknown);
}

TEST(PlaceRefuses, AClassNamedAsALayer) {
  const Failure failure = refusal<NotFoundError>(spec_of("Add"));
  EXPECT_EQ(failure, kUnknown);
  EXPECT_THAT(failure.message, HasSubstr("is_keras_class"));
}

TEST(PlaceRefuses, AnUnknownClass) {
  EXPECT_EQ(refusal<UnsupportedError>(spec_of("Conv2", kClass)), kNoClass);
  EXPECT_EQ(warned(spec_of("Conv2", kClass), kNoClass, "'Conv2'").plan,
            defaults());
  EXPECT_EQ(refusal<UnsupportedError>(spec_of("conv_1", kClass)), kNoClass);
}

TEST(PlaceRefuses, AClassWithoutAWrapper) {
  EXPECT_EQ(refusal<UnsupportedError>(spec_of("ReLU", kClass)), kNoClass);
  EXPECT_EQ(warned(spec_of("ReLU", kClass), kNoClass, "ReLU").plan, defaults());
}

TEST(PlaceRefuses, ALayerWithoutAWrapper) {
  EXPECT_EQ(refusal<UnsupportedError>(spec_of("relu")), kNoClass);
  EXPECT_EQ(warned(spec_of("relu"), kNoClass, "'relu'").plan, defaults());
  EXPECT_EQ(refusal<UnsupportedError>(spec_of("image")), kNoClass);
}

TEST(PlaceRefuses, APatternWithoutLayersOrWithoutWrappers) {
  EXPECT_EQ(refusal<NotFoundError>(spec_of("conv", kPattern)), kUnknown);
  EXPECT_EQ(warned(spec_of("conv", kPattern), kUnknown, "'conv'").plan,
            defaults());
  EXPECT_EQ(refusal<UnsupportedError>(spec_of("r.*", kPattern)), kNoClass);
}

TEST(Place, LetsAPatternMatchLayersWithoutWrappers) {
  EXPECT_EQ(place(net(), asking(spec_of(".*", kPattern))).plan.points.size(),
            6u);
}

TEST(Place, AcceptsSwitchingOffLayersWithoutWrappers) {
  QuantizationSpec spec = spec_of("relu", kOff);
  spec.add("Softmax", {.is_keras_class = true,
                       .quantize_input = false,
                       .quantize_weight = false});
  const Placement placement = place(net(), asking(spec));
  EXPECT_EQ(placement.plan, defaults());
  EXPECT_THAT(placement.notes,
              ElementsAre(PlacementNote{PlacementNote::Kind::skipped, "relu",
                                        "user", "requests nothing"}));
}

TEST(PlaceRefuses, AnIndexOutOfRange) {
  EXPECT_EQ(refusal<ValueError>(spec_of("add", index({2}))), kIndex);
  EXPECT_EQ(refusal<ValueError>(spec_of(
                "Add", {.is_keras_class = true, .quantization_index = {0, 2}})),
            kIndex);
  EXPECT_EQ(refusal<ValueError>(spec_of("conv_1", index({1}))), kIndex);
  EXPECT_EQ(refusal<ValueError>(
                spec_of(".*", {.is_regex = true, .quantization_index = {1}})),
            kIndex);
}

TEST(Place, IgnoresIndicesOutOfRangeWithAWarning) {
  const auto sites = [](const Placement& placement, const std::string& layer) {
    std::vector<std::string> result;
    for (const QdqPoint& point : placement.plan.points) {
      if (point.layer == layer) result.push_back(to_string(point.site));
    }
    return result;
  };
  EXPECT_THAT(
      sites(warned(spec_of("add", index({7, 1})), kOutOfRange, "got 7"), "add"),
      ElementsAre("input 1"));
  const Placement none =
      warned(spec_of("add", index({2})), kOutOfRange, "got 2");
  EXPECT_THAT(sites(none, "add"), IsEmpty());
  EXPECT_THAT(none.notes, ElementsAre(PlacementNote{
                              PlacementNote::Kind::skipped, "add", "user",
                              "requests inputs that do not exist"}));
  EXPECT_THAT(sites(warned(spec_of("conv_1", index({5})), kOutOfRange, "got 5"),
                    "conv_1"),
              ElementsAre("kernel"));
}

TEST(PlaceRefuses, EachUnknownNameOfASpecSeparately) {
  const WarningCapture warnings;
  QuantizationSpec spec;
  spec.add({"a", "b"});
  spec.add("C", kClass);
  QuantizeOptions options = asking(spec);
  options.on_unknown = OnUnknown::warn;
  EXPECT_EQ(place(net(), options).plan, defaults());
  ASSERT_THAT(warnings.messages, ElementsAre(kUnknown, kUnknown, kNoClass));
  std::vector<std::string> named;
  for (const Failure& warning : warnings.messages) {
    named.push_back(quoted_names(warning.text()).at(0));
  }
  EXPECT_THAT(named, ElementsAre("a", "b", "C"));
}

/// Names an unknown layer, or throws.
class BadCase : public CustomQDQInsertionCase {
 public:
  explicit BadCase(bool fails) : fails_(fails) {}
  std::string name() const override { return "Bad"; }
  QuantizationSpec case_(const Model&, const QuantizationSpec&) const override {
    if (fails_)
      throw ValueError("out_of_range", "threshold", "must be > 0, got 0");
    return spec_of("missing");
  }

 private:
  bool fails_;
};

TEST(PlaceRefuses, ErrorsOfACaseUnderItsName) {
  const auto place_with = [](bool fails) {
    (void)place(net(), {.cases = {BadCase(fails)}, .policy = Policy::toolkit});
  };
  EXPECT_EQ(failure_of<NotFoundError>([&] { place_with(false); }),
            (Failure{"unknown_name", "case Bad spec"}));
  const Failure failure = failure_of<ValueError>([&] { place_with(true); });
  EXPECT_EQ(failure, (Failure{"out_of_range", "threshold"}));
  EXPECT_THAT(failure.context, Contains("in case Bad"));
}

TEST(PlaceRefuses, PartialModeWithoutEntries) {
  const auto refused = [](std::vector<InsertionCase> cases) {
    return failure_of<ValueError>([&] {
      (void)place(net(), {.mode = QuantizationMode::partial,
                          .cases = std::move(cases),
                          .policy = Policy::toolkit});
    });
  };
  const Failure missing{"missing_value", "quantize_model"};
  EXPECT_EQ(refused({}), missing);
  EXPECT_EQ(refused({MaxPoolQDQCase(), InceptionQDQCase()}), missing);
}

TEST(PlaceRefuses, AQuantizedModel) {
  const Model quantized = quantize_model(net(), asking({}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)place(quantized, asking({})); }),
            (Failure{"already_quantized", "quantize_model"}));
}

TEST(QuantizeModel, RefusesAnEmptyPlan) {
  QuantizeOptions options = asking(spec_of("conv_1", kOff));
  options.mode = QuantizationMode::partial;
  EXPECT_TRUE(place(net(), options).plan.points.empty());
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)quantize_model(net(), options); }),
      (Failure{"unsupported_model", "quantize_model"}));
}

}  // namespace
}  // namespace octet::quant
