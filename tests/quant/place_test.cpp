// Precedence of the user, cases and the policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "toolkit_table.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Strings = std::vector<std::string>;

const SpecOptions kSwitchedOff{.quantize_input = false,
                               .quantize_weight = false};
const SpecOptions kOfClass{.is_keras_class = true};

/// A case that returns a given spec, regardless of the user's.
class Says : public CustomQDQInsertionCase {
 public:
  Says(std::string name, QuantizationSpec spec)
      : name_(std::move(name)), spec_(std::move(spec)) {}
  std::string name() const override { return name_; }
  QuantizationSpec case_(const Model&, const QuantizationSpec&) const override {
    return spec_;
  }

 private:
  std::string name_;
  QuantizationSpec spec_;
};

InsertionCase says(const std::string& name, const std::string& layer,
                   const SpecOptions& options = {}) {
  return Says(name, spec_of(layer, options));
}

/// conv, bn, add of bn and image, pool, dense.
Model block() {
  const SymbolicTensor x = input({6, 6, 4}, "image");
  SymbolicTensor y =
      Conv2D({.filters = 4, .padding = Padding::same, .name = "conv"})(x);
  y = Add({.name = "add"})({BatchNormalization({.name = "bn"})(y), x});
  y = Flatten({.name = "flatten"})(MaxPooling2D({.name = "pool"})(y));
  return Model(x, Dense({.units = 3, .name = "dense"})(y), {.name = "block"});
}

QuantizeOptions asking_for(QuantizationSpec spec,
                           std::vector<InsertionCase> cases = {}) {
  return {.spec = std::move(spec),
          .cases = std::move(cases),
          .policy = Policy::toolkit};
}

/// "layer site (rule)" of each point.
Strings outline(const Placement& placement) {
  Strings result;
  for (const QdqPoint& point : placement.plan.points) {
    result.push_back(fmt::format("{} {} ({})", point.layer,
                                 to_string(point.site), point.rule));
  }
  return result;
}

/// For a single layer.
Strings sites_of(const std::string& layer, const Placement& placement) {
  Strings result;
  for (const QdqPoint& point : placement.plan.points) {
    if (point.layer != layer) continue;
    result.push_back(fmt::format("{} ({})", to_string(point.site), point.rule));
  }
  return result;
}

Strings conflicts(const Placement& placement) {
  Strings result;
  for (const PlacementNote& note : placement.notes) {
    if (note.kind == PlacementNote::Kind::conflict) {
      result.push_back(fmt::format("{}: {}", note.layer, note.text));
    }
  }
  return result;
}

TEST(Place, PrefersTheUserToCasesToThePolicy) {
  const Model model = block();
  QuantizationSpec spec = spec_of("add", {.quantization_index = {0}});
  const Placement placement = place(
      model, asking_for(spec, {says("A", "add", {.quantization_index = {1}}),
                               says("A", "conv", {.quantize_weight = false})}));
  EXPECT_THAT(outline(placement),
              ElementsAre("conv input 0 (case A)", "add input 0 (user)",
                          "dense input 0 (default)", "dense kernel (default)"));
  EXPECT_THAT(conflicts(placement),
              ElementsAre("conv: case A requests input 0, default "
                          "requests input 0, kernel; case A wins",
                          "add: user requests input 0, case A requests "
                          "input 1; user wins"));
}

TEST(Place, PrefersTheLaterCase) {
  const Model model = block();
  const InsertionCase first = says("First", "add", {.quantization_index = {0}});
  const InsertionCase second =
      says("Second", "add", {.quantization_index = {1}});
  EXPECT_THAT(sites_of("add", place(model, asking_for({}, {first, second}))),
              ElementsAre("input 1 (case Second)"));
  const Placement placement = place(model, asking_for({}, {second, first}));
  EXPECT_THAT(sites_of("add", placement), ElementsAre("input 0 (case First)"));
  EXPECT_THAT(conflicts(placement),
              ElementsAre("add: case First requests input 0, case Second "
                          "requests input 1; case First wins"));
}

TEST(Place, PrefersTheUsersPatternsAndClassesToCases) {
  const Model model = block();
  const std::vector<InsertionCase> cases{ResNetV1QDQCase()};
  EXPECT_THAT(sites_of("add", place(model, asking_for({}, cases))),
              ElementsAre("input 1 (case ResNetV1)"));
  EXPECT_THAT(sites_of("add", place(model, asking_for(spec_of("Add", kOfClass),
                                                      cases))),
              ElementsAre("input 0 (user)", "input 1 (user)"));
  EXPECT_THAT(
      sites_of(
          "add",
          place(model, asking_for(spec_of("ad+", {.is_regex = true}), cases))),
      ElementsAre("input 0 (user)", "input 1 (user)"));
}

TEST(Place, PrefersANameToAPatternToAClass) {
  const Model model = block();
  QuantizationSpec spec;
  spec.add("conv", {.quantize_input = false});
  spec.add("conv|dense", {.is_regex = true, .quantize_weight = false});
  spec.add({"Conv2D", "Dense", "MaxPooling2D"}, {.is_keras_class = {true}});
  const Placement placement = place(model, asking_for(spec));
  EXPECT_THAT(outline(placement),
              ElementsAre("conv kernel (user)", "pool input 0 (user)",
                          "dense input 0 (user)"));
  EXPECT_EQ(placement.plan.points[0].reason, "names the layer");
  EXPECT_EQ(placement.plan.points[1].reason, "class MaxPooling2D");
  EXPECT_EQ(placement.plan.points[2].reason, "layers like 'conv|dense'");
}

TEST(Place, ReportsNoConflictIfAllAgreeOrThePolicyIsSilent) {
  const Model model = block();
  QuantizationSpec spec = spec_of("conv");
  spec.add("pool");
  EXPECT_THAT(conflicts(place(model, asking_for(spec, {says("A", "conv"),
                                                       ResNetV1QDQCase()}))),
              IsEmpty());
}

TEST(Place, AppliesTheFlagsOfAClass) {
  const Model model = block();
  QuantizationSpec spec;
  spec.add({"Conv2D", "Dense", "Add"}, {.is_keras_class = {true},
                                        .quantize_input = {true, false, true},
                                        .quantize_weight = {false, true, true},
                                        .quantization_index = {{}, {}, {1}}});
  EXPECT_THAT(outline(place(model, asking_for(spec))),
              ElementsAre("conv input 0 (user)", "add input 1 (user)",
                          "dense kernel (user)"));
}

TEST(Place, SwitchesClassesOff) {
  const Model model = block();
  const QuantizationSpec spec =
      spec_of("Convolution2D", {.is_keras_class = true,
                                .quantize_input = false,
                                .quantize_weight = false});
  const Placement placement = place(model, asking_for(spec));
  EXPECT_THAT(outline(placement),
              ElementsAre("dense input 0 (default)", "dense kernel (default)"));
  ASSERT_EQ(placement.notes.size(), 2u);
  EXPECT_EQ(placement.notes[0],
            (PlacementNote{PlacementNote::Kind::conflict, "conv", "user",
                           "user requests nothing, default requests input 0, "
                           "kernel; user wins"}));
  EXPECT_EQ(placement.notes[1],
            (PlacementNote{PlacementNote::Kind::skipped, "conv", "user",
                           "requests nothing"}));
}

TEST(Place, IgnoresIndicesWithoutInputs) {
  QuantizationSpec spec =
      spec_of("add", {.quantize_input = false, .quantization_index = {0}});
  EXPECT_THAT(sites_of("add", place(block(), asking_for(spec))), IsEmpty());
}

TEST(Place, PlacesOnlyListedLayersInPartialMode) {
  const Model model = block();
  QuantizeOptions options = asking_for(spec_of("dense"), {MaxPoolQDQCase()});
  options.mode = QuantizationMode::partial;
  const Placement placement = place(model, options);
  EXPECT_THAT(outline(placement),
              ElementsAre("pool input 0 (case MaxPool)", "dense input 0 (user)",
                          "dense kernel (user)"));
  EXPECT_THAT(placement.notes, IsEmpty());
  options.spec = {};
  EXPECT_THAT(outline(place(model, options)),
              ElementsAre("pool input 0 (case MaxPool)"));
}

TEST(Place, LeavesItsArgumentsUnchanged) {
  const Model model = block();
  shake(model);
  const auto weights = weight_bits(model);
  const auto layers = names(model);
  const auto held =
      std::make_shared<const Says>("Held", spec_of("bn", {.is_regex = true}));
  const auto spec = [] {
    QuantizationSpec own = spec_of("conv", {.quantize_weight = false});
    own.add("Add", kOfClass);
    return own;
  };
  const QuantizeOptions options = asking_for(spec(), {held, ResNetV2QDQCase()});
  (void)quantize_model(model, options);
  QuantizeOptions failing = options;
  failing.spec.add("missing");
  EXPECT_THROW((void)quantize_model(model, failing), NotFoundError);
  EXPECT_EQ(options.spec, spec());
  EXPECT_EQ(options.cases.size(), 2u);
  EXPECT_EQ(held->case_(model, {}), spec_of("bn", {.is_regex = true}));
  EXPECT_EQ(weight_bits(model), weights);
  EXPECT_EQ(names(model), layers);
}

TEST(Place, IsDeterministicEvenAfterAnError) {
  const Model model = block();
  const QuantizeOptions options =
      asking_for(spec_of("conv", kSwitchedOff),
                 {ResNetV2QDQCase(), says("A", "bn", kSwitchedOff)});
  const Placement first = place(model, options);
  EXPECT_THROW((void)place(model, asking_for(spec_of("missing"))),
               NotFoundError);
  EXPECT_THROW(
      (void)quantize_model(
          model, asking_for(spec_of("add", {.quantization_index = {9}}))),
      ValueError);
  const Placement second = place(model, options);
  EXPECT_EQ(first.plan, second.plan);
  EXPECT_EQ(first.notes, second.notes);
  EXPECT_EQ(plan_of(quantize_model(model, options)), first.plan);
  EXPECT_EQ(plan_of(quantize_model(model, options)), first.plan);
}

/// Two calls of a model "encoder" with a convolution, a normalization and an
/// Add.
Model nested() {
  const SymbolicTensor inner = input({6, 6, 4}, "x");
  SymbolicTensor y =
      Conv2D({.filters = 4, .padding = Padding::same, .name = "conv"})(inner);
  y = Add({.name = "add"})({BatchNormalization({.name = "bn"})(y), inner});
  Model encoder(inner, y, {.name = "encoder"});
  const SymbolicTensor image = input({6, 6, 4}, "image");
  const SymbolicTensor twice = encoder(encoder(image));
  return Model(image, Conv2D({.filters = 2, .name = "head"})(twice));
}

TEST(Place, SupportsNestedModelsCalledTwice) {
  const Model model = nested();
  QuantizationSpec spec = spec_of("encoder/.*", {.is_regex = true});
  spec.add("head", kSwitchedOff);
  const Placement placement = place(model, asking_for(spec));
  EXPECT_THAT(
      outline(placement),
      ElementsAre("encoder/conv input 0 (user)", "encoder/conv kernel (user)",
                  "encoder/bn input 0 (user)", "encoder/add input 0 (user)",
                  "encoder/add input 1 (user)"));
  // Two calls of four inputs, and a kernel; each input has a quantizer for both
  // of its tensors.
  EXPECT_EQ(count_pairs(placement.plan, model), (PairCount{8, 1, 9}));
}

TEST(Place, AppliesCasesAndDefaultsInNestedModels) {
  const Placement placement =
      place(nested(), asking_for({}, {ResNetV1QDQCase()}));
  EXPECT_THAT(outline(placement),
              ElementsAre("encoder/conv input 0 (default)",
                          "encoder/conv kernel (default)",
                          "encoder/add input 1 (case ResNetV1)",
                          "head input 0 (default)", "head kernel (default)"));
}

TEST(Place, SupportsModelsWithSharedLayers) {
  const Model model = nested();
  shake(model);
  Model quantized = quantize_model(model, asking_for({}, {ResNetV1QDQCase()}));
  calibrate(quantized, samples(8, {6, 6, 4}), {.method = Calibration::max});
  const Tensor x = noise({2, 6, 6, 4}, 7);
  const auto real = values(model.predict(x));
  const auto rounded = values(quantized.predict(x));
  float largest = 0;
  for (const float v : real) largest = std::max(largest, std::fabs(v));
  // Four layers of eight bits lose about 1 % of the range each.
  for (size_t i = 0; i < real.size(); ++i) {
    EXPECT_NEAR(rounded[i], real[i], 0.1f * largest);
  }
}

TEST(Place, ReportsConflictsWithQdqBeforeAPad) {
  const SymbolicTensor image = input({6, 5, 3}, "image");
  const Model model(image,
                    Conv2D({.filters = 2, .name = "conv"})(ZeroPadding2D(
                        {.padding = {1, 1, 1, 1}, .name = "pad"})(image)));
  const auto texts = [&](const SpecOptions& options) {
    Strings result;
    for (const PlacementNote& note :
         place(model, {.spec = spec_of("conv", options)}).notes) {
      if (note.kind == PlacementNote::Kind::conflict) {
        result.push_back(note.text);
      }
    }
    return result;
  };
  EXPECT_THAT(texts({.quantize_input = false}),
              ElementsAre("user requests kernel, P20 requests input 0 before "
                          "pad, kernel; user wins"));
  EXPECT_THAT(texts({}),
              ElementsAre("user requests input 0, kernel, P20 requests input 0 "
                          "before pad, kernel; user wins"));
}

}  // namespace
}  // namespace octet::quant
