#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../layers/user_layers.h"
#include "support.h"
#include "toolkit_table.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Layers = std::vector<LayerHandle>;

/// Returns a case's entries as "name: indices"; entries request only inputs.
std::vector<std::string> entries_of(const CustomQDQInsertionCase& asked,
                                    const Model& model,
                                    const QuantizationSpec& spec = {}) {
  std::vector<std::string> result;
  for (const SpecEntry& entry : asked.case_(model, spec).entries()) {
    EXPECT_EQ(entry.target, SpecTarget::layer);
    EXPECT_TRUE(entry.request.quantize_input);
    EXPECT_FALSE(entry.request.quantize_weight);
    result.push_back(
        fmt::format("{}: {}", entry.name,
                    fmt::join(entry.request.quantization_index, " ")));
  }
  return result;
}

SymbolicTensor image() { return input({6, 6, 4}, "image"); }

Conv2D conv(std::string name = "") {
  return Conv2D({.filters = 4, .padding = Padding::same, .name = name});
}

SymbolicTensor through(SymbolicTensor x, const Layers& layers) {
  for (const LayerHandle& layer : layers) x = layer(x);
  return x;
}

/// Adds an image and the output of the layers applied to it.
Model residual(const Layers& layers) {
  const SymbolicTensor x = image();
  return Model(x, Add({.name = "add"})({through(x, layers), x}));
}

std::string add_of(const Layers& layers) {
  const auto entries =
      entries_of(ResidualConnectionQDQCase(), residual(layers));
  EXPECT_EQ(entries.size(), 1u);
  return entries.at(0);
}

constexpr const char* kBranchFound = "add: 1";
constexpr const char* kNoBranch = "add: ";  // all inputs

TEST(ResidualCase, ExcludesTheFourChainsOfAConvolution) {
  EXPECT_EQ(add_of({conv()}), kBranchFound);
  EXPECT_EQ(add_of({conv(), BatchNormalization()}), kBranchFound);
  EXPECT_EQ(add_of({conv(), BatchNormalization(), Activation("relu")}),
            kBranchFound);
  EXPECT_EQ(add_of({conv(), BatchNormalization(), Activation("silu"),
                    Dropout({.rate = 0.5f})}),
            kBranchFound);
}

TEST(ResidualCase, MissesOtherChains) {
  EXPECT_EQ(add_of({ReLU()}), kNoBranch);
  // Without normalization.
  EXPECT_EQ(add_of({conv(), Activation("relu")}), kNoBranch);
  EXPECT_EQ(add_of({conv(), ReLU()}), kNoBranch);
  // An additional layer, or another order.
  EXPECT_EQ(add_of({conv(), BatchNormalization(), Dropout({.rate = 0.5f})}),
            kNoBranch);
  EXPECT_EQ(add_of({conv(), ZeroPadding2D({.padding = {0, 0, 0, 0}})}),
            kNoBranch);
  EXPECT_EQ(add_of({conv(), Activation("relu"), BatchNormalization()}),
            kNoBranch);
  EXPECT_EQ(add_of({BatchNormalization()}), kNoBranch);
}

TEST(ResidualCase, RecognizesOnlyTheActivationClass) {
  EXPECT_EQ(add_of({conv(), BatchNormalization(), ReLU()}), kNoBranch);
  EXPECT_EQ(add_of({conv(), BatchNormalization(), LeakyReLU()}), kNoBranch);
  EXPECT_EQ(add_of({conv(), BatchNormalization(), PReLU()}), kNoBranch);
}

TEST(ResidualCase, MatchesClassesBySubstring) {
  EXPECT_EQ(add_of({DepthwiseConv2D({.padding = Padding::same})}),
            kBranchFound);
  EXPECT_EQ(add_of({Conv2DTranspose({.filters = 4, .padding = Padding::same})}),
            kBranchFound);
  EXPECT_EQ(add_of({SeparableConv2D({.filters = 4, .padding = Padding::same}),
                    BatchNormalization()}),
            kBranchFound);
  EXPECT_EQ(add_of({conv(), BatchNormalization(), Activation("relu"),
                    SpatialDropout2D({.rate = 0.5f})}),
            kBranchFound);
  // "Normalization" is not "BatchNorm".
  EXPECT_EQ(add_of({conv(), LayerNormalization()}), kNoBranch);
}

/// A layer of two inputs, named an activation.
class PairActivation final : public Plain {
 public:
  std::string class_name() const override { return "PairActivation"; }
};

TEST(ResidualCase, FollowsFirstInputs) {
  const auto entries = [](bool conv_first) {
    const SymbolicTensor x = image();
    const SymbolicTensor y = BatchNormalization()(conv()(x));
    const LayerHandle pair(std::make_shared<PairActivation>());
    const SymbolicTensor z = conv_first ? pair({y, x}) : pair({x, y});
    return entries_of(ResidualConnectionQDQCase(),
                      Model(x, Add({.name = "add"})({z, x})));
  };
  EXPECT_THAT(entries(true), ElementsAre(kBranchFound));
  EXPECT_THAT(entries(false), ElementsAre(kNoBranch));
}

TEST(ResidualCase, RequiresTheAddAsOnlyConsumer) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = conv()(x);
  const SymbolicTensor add = Add({.name = "add"})({y, x});
  EXPECT_THAT(
      entries_of(ResidualConnectionQDQCase(), Model({x}, {add, ReLU()(y)})),
      ElementsAre(kNoBranch));
  EXPECT_THAT(entries_of(ResidualConnectionQDQCase(),
                         Model(x, Add({.name = "add"})({y, y}))),
              ElementsAre(kNoBranch));
  // A model output is not a consumer.
  EXPECT_THAT(entries_of(ResidualConnectionQDQCase(), Model({x}, {add, y})),
              ElementsAre(kBranchFound));
}

TEST(ResidualCase, ExcludesTheFirstOfTwoBranches) {
  const SymbolicTensor x = image();
  const SymbolicTensor a = conv()(x);
  const SymbolicTensor b = BatchNormalization()(conv()(x));
  const auto entries = [&](std::vector<SymbolicTensor> inputs) {
    return entries_of(ResidualConnectionQDQCase(),
                      Model(x, Add({.name = "add"})(std::move(inputs))));
  };
  EXPECT_THAT(entries({a, b}), ElementsAre("add: 1"));
  EXPECT_THAT(entries({b, a}), ElementsAre("add: 1"));
  EXPECT_THAT(entries({x, b, a}), ElementsAre("add: 0 2"));
}

TEST(ResidualCase, NamesOnlyAddsNotNamedByTheUser) {
  const SymbolicTensor x = image();
  const SymbolicTensor a = Add({.name = "a"})({conv("conv")(x), x});
  const SymbolicTensor b = Add({.name = "b"})({x, a});
  const Model model(x, Subtract({.name = "c"})({b, x}));
  const ResidualConnectionQDQCase asked;
  EXPECT_THAT(entries_of(asked, model), ElementsAre("a: 1", "b: "));
  QuantizationSpec spec = spec_of("b", {.quantize_input = false});
  spec.add("Add", {.is_keras_class = true});
  EXPECT_THAT(entries_of(asked, model, spec), ElementsAre("a: 1"));
}

TEST(ResidualCase, NamesASharedAddOnce) {
  const SymbolicTensor x = image();
  const Add add({.name = "add"});
  const SymbolicTensor y = add({conv()(x), x});
  const Model model(x, add({y, conv()(y)}));
  EXPECT_THAT(entries_of(ResidualConnectionQDQCase(), model),
              ElementsAre("add: 1"));
}

/// A normalization "bn" after the given layers.
std::vector<std::string> norm_behind(const Layers& layers) {
  const SymbolicTensor x = image();
  const BatchNormalization bn({.name = "bn"});
  return entries_of(BNQDQCase(), Model(x, bn(through(x, layers))));
}

TEST(BNCase, NamesNormalizationNotAfterAConvolution) {
  EXPECT_THAT(norm_behind({}), ElementsAre("bn: "));
  EXPECT_THAT(norm_behind({MaxPooling2D()}), ElementsAre("bn: "));
  EXPECT_THAT(norm_behind({Dense({.units = 3})}), ElementsAre("bn: "));
  EXPECT_THAT(norm_behind({conv(), ReLU()}), ElementsAre("bn: "));
  EXPECT_THAT(norm_behind({conv(), Dropout({.rate = 0.5f})}),
              ElementsAre("bn: "));
  EXPECT_THAT(norm_behind({conv()}), IsEmpty());
  EXPECT_THAT(norm_behind({DepthwiseConv2D()}), IsEmpty());
  EXPECT_THAT(norm_behind({Conv2DTranspose({.filters = 2})}), IsEmpty());
}

TEST(BNCase, IgnoresOtherNormalizationAndNamesOfTheUser) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = BatchNormalization({.name = "bn"})(x);
  const Model model(x, LayerNormalization({.name = "ln"})(y));
  EXPECT_THAT(entries_of(BNQDQCase(), model), ElementsAre("bn: "));
  EXPECT_THAT(entries_of(BNQDQCase(), model, spec_of("bn")), IsEmpty());
}

/// A model with all layers relevant to cases.
Model everything() {
  const SymbolicTensor x = image();
  SymbolicTensor y = BatchNormalization({.name = "bn"})(x);
  y = MaxPooling2D({.pool_size = {1, 1}, .name = "pool"})(y);
  y = Multiply({.name = "scale"})({conv()(y), y, x});
  y = Add({.name = "add"})({x, conv()(y)});
  return Model(x, AveragePooling2D({.name = "average"})(y));
}

TEST(Cases, AreComposed) {
  const Model model = everything();
  using Entries = std::vector<std::string>;
  const Entries residual{"add: 0"}, bn{"bn: "}, pool{"pool: "};
  EXPECT_EQ(entries_of(ResidualConnectionQDQCase(), model), residual);
  EXPECT_EQ(entries_of(ResNetV1QDQCase(), model), residual);
  EXPECT_EQ(entries_of(MobileNetQDQCase(), model), residual);
  EXPECT_EQ(entries_of(BNQDQCase(), model), bn);
  EXPECT_EQ(entries_of(MaxPoolQDQCase(), model), pool);
  EXPECT_EQ(entries_of(InceptionQDQCase(), model), pool);
  EXPECT_EQ(entries_of(ResNetV2QDQCase(), model),
            (Entries{"add: 0", "bn: ", "pool: "}));
  // Always the first two inputs.
  EXPECT_EQ(entries_of(EfficientNetQDQCase(), model),
            (Entries{"add: 0", "scale: 0 1"}));
}

TEST(Cases, ExcludeNamesOfTheUser) {
  const Model model = everything();
  QuantizationSpec spec;
  spec.add({"pool", "scale"}, {.quantize_input = {false}});
  EXPECT_THAT(entries_of(MaxPoolQDQCase(), model, spec), IsEmpty());
  EXPECT_THAT(entries_of(ResNetV2QDQCase(), model, spec),
              ElementsAre("add: 0", "bn: "));
  EXPECT_THAT(entries_of(EfficientNetQDQCase(), model, spec),
              ElementsAre("add: 0"));
}

TEST(Cases, ReturnAnEmptySpecWithoutRelevantLayers) {
  for (const InsertionCase& each : insertion_cases()) {
    EXPECT_TRUE(each->case_(zoo::lobelia(), {}).empty()) << each->name();
  }
}

TEST(Cases, AreFoundByTheirNames) {
  std::vector<std::string> names;
  for (const InsertionCase& each : insertion_cases()) {
    names.push_back(each->name());
    EXPECT_EQ(insertion_case(each->name())->name(), each->name());
    EXPECT_FALSE(each->info().empty()) << each->name();
  }
  EXPECT_THAT(names,
              ElementsAre("BN", "EfficientNet", "Inception", "MaxPool",
                          "MobileNet", "ResNetV1", "ResNetV2", "Residual"));
  EXPECT_EQ(failure_of<NotFoundError>([] { (void)insertion_case("ResNet"); }),
            (Failure{"unknown_name", "insertion case"}));
  EXPECT_THROW((void)insertion_case("resnetv1"), NotFoundError);
  EXPECT_THROW((void)insertion_case(""), NotFoundError);
}

// Example of the toolkit's documentation, "Add Custom QDQ Insertion Case".
class UserMaxPoolCase : public CustomQDQInsertionCase {
 public:
  std::string name() const override { return "UserMaxPool"; }
  std::string info() const override {
    return "Enables quantization of MaxPool layers.";
  }
  QuantizationSpec case_(const Model& model,
                         const QuantizationSpec& spec) const override {
    QuantizationSpec result;
    for (const auto& layer : model.layers()) {
      if (layer->class_name() == "MaxPooling2D" &&
          check_is_quantizable_by_layer_name(spec, layer->name())) {
        result.add(layer->name(), {.quantize_weight = false});
      }
    }
    return result;
  }
};

TEST(UserCase, DecidesAndItsInfoIsThePlansReason) {
  const QdqPlan plan =
      plan_for(everything(), {.mode = QuantizationMode::partial,
                              .cases = {UserMaxPoolCase()},
                              .policy = Policy::toolkit});
  EXPECT_EQ(plan.to_string(),
            "pool  input 0  int8 [-128,127] per tensor fixed  case UserMaxPool "
            " Enables quantization of MaxPool layers.\n");
}

TEST(InsertionCase, ThatIsUnknownIsRefused) {
  EXPECT_EQ(failure_of<NotFoundError>([] { (void)insertion_case("ResnetV1"); }),
            (Failure{"unknown_name", "insertion case"}));
}

TEST(UserCase, MayBeAPointer) {
  const auto held = std::make_shared<const UserMaxPoolCase>();
  const InsertionCase value(held);
  EXPECT_EQ(value.operator->(), held.get());
  EXPECT_EQ(failure_of<ValueError>([] {
              InsertionCase(std::shared_ptr<const UserMaxPoolCase>());
            }),
            (Failure{"missing_value", "insertion case"}));
}

}  // namespace
}  // namespace octet::quant
