// Registrations last for the whole process: each test has separate classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/custom_layer.h>

#include "support.h"
#include "toolkit_table.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

using Sites = std::vector<std::string>;

constexpr std::string_view kClasses[] = {
    "RegistryWeighted", "RegistryPlain",    "RegistryJoining", "RegistryOwn",
    "RegistryDisabled", "RegistryMistaken", "RegistryStray",   "RegistryCloned",
    "RegistryBare",     "RegistryData"};

/// The sum of its inputs and its parameter "offset", a custom layer class.
template <size_t I>
class UserLayer final : public Layer {
 public:
  std::string class_name() const override { return std::string(kClasses[I]); }
  Config config() const override { return Config::Object(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return inputs[0];
  }
  void build(std::span<const Shape> inputs) override {
    offset_ = add_parameter("offset", {inputs[0][-1]});
  }
  Variable forward(const ForwardContext& context,
                   std::span<const Variable> inputs) const override {
    Variable y = bias_add(inputs[0], context.read(at(offset_)));
    for (const Variable& x : inputs.subspan(1)) y = add(y, x);
    return y;
  }

 private:
  size_t offset_ = 0;
};

template <size_t I>
LayerHandle user_layer(const std::string& name = "user") {
  static const LayerDef def{
      .class_name = kClasses[I],
      .create = [](const Config&) -> std::shared_ptr<Layer> {
        return std::make_shared<UserLayer<I>>();
      }};
  static const bool done = (register_layer(def), true);
  (void)done;
  const LayerHandle layer(std::make_shared<UserLayer<I>>());
  layer->set_name(name);
  return layer;
}

/// Registers a wrapper once, even in repeated tests.
template <class Wrapper, size_t I>
void register_for(bool enabled = true) {
  static const bool done =
      (register_wrapper<Wrapper>(
           {.name = fmt::format("{}QuantizeWrapper", kClasses[I]),
            .enabled = enabled}),
       true);
  (void)done;
}

class OffsetQuantizeWrapper : public WeightedBaseQuantizeWrapper {
 public:
  using WeightedBaseQuantizeWrapper::WeightedBaseQuantizeWrapper;
  static QdqSites sites() { return {.weights = {"offset"}}; }
};

class PlainQuantizeWrapper : public NonWeightedBaseQuantizeWrapper {
 public:
  using NonWeightedBaseQuantizeWrapper::NonWeightedBaseQuantizeWrapper;
};

class JoiningQuantizeWrapper : public MultiInputBaseQuantizeWrapper {
 public:
  using MultiInputBaseQuantizeWrapper::MultiInputBaseQuantizeWrapper;
};

/// A model of a layer on its first two inputs.
class OwnQuantizeWrapper : public BaseQuantizeWrapper {
 public:
  using BaseQuantizeWrapper::BaseQuantizeWrapper;
  static QdqSites sites() { return {.inputs = 2, .output = true}; }
};

Sites sites_of(const QdqPlan& plan) {
  Sites sites;
  for (const QdqPoint& point : plan.points) {
    sites.push_back(to_string(point.site));
  }
  return sites;
}

QuantizeOptions by_toolkit(QuantizationSpec spec = {}) {
  return {.spec = std::move(spec), .policy = Policy::toolkit};
}

TEST(WrapperRegistry, HasTheWrappersOfTheToolkit) {
  // Class, default in full mode, weight.
  // Source: tensorflow-quantization 0.2.0, quantize_wrappers.py.
  const auto one = [](const LayerHandle& layer, bool on, Sites sites) {
    const std::string layer_class = layer->class_name();
    SCOPED_TRACE(layer_class);
    const SymbolicTensor x = input({4, 4, 2}, "x");
    const bool joins = sites.size() == 2 && sites[1] == "input 1";
    const Model model(x, joins ? layer(std::vector{x, x}) : layer(x));
    EXPECT_EQ(wrapper_info(layer_class).name, layer_class + "QuantizeWrapper");
    EXPECT_EQ(sites_of(plan_for(model, by_toolkit())), on ? sites : Sites());
    EXPECT_EQ(
        sites_of(plan_for(
            model, by_toolkit(spec_of(layer_class, {.is_keras_class = true})))),
        sites);
  };
  const Sites first{"input 0"}, both{"input 0", "input 1"};
  one(Conv2D({.filters = 3}), true, {"input 0", "kernel"});
  one(Dense({.units = 3}), true, {"input 0", "kernel"});
  one(DepthwiseConv2D(), true, {"input 0", "depthwise_kernel"});
  one(AveragePooling2D(), true, first);
  one(GlobalAveragePooling2D(), true, first);
  one(MaxPooling2D(), false, first);
  one(BatchNormalization(), false, first);
  one(Add(), false, both);
  one(Multiply(), false, both);
  one(Concatenate(), false, both);
  // Octet's, missing in the toolkit.
  one(Conv2DTranspose({.filters = 3}), false, {"input 0", "kernel"});
  one(SeparableConv2D({.filters = 3}), false,
      {"input 0", "inner depthwise", "depthwise_kernel", "pointwise_kernel"});
  one(Average(), false, both);
  one(Maximum(), false, both);
  one(Minimum(), false, both);
  one(Subtract(), false, both);
}

TEST(WrapperRegistry, ListsOctetsWrappersBeforeTheUsers) {
  user_layer<0>();
  register_for<OffsetQuantizeWrapper, 0>();
  std::vector<std::string> own, users;
  for (const WrapperInfo& info : wrapper_infos()) {
    EXPECT_EQ(wrapper_info(info.layer_class).name, info.name);
    EXPECT_TRUE(info.user_defined || users.empty()) << info.name;
    (info.user_defined ? users : own).push_back(info.name);
  }
  EXPECT_THAT(own, ::testing::IsSupersetOf({"AddQuantizeWrapper",
                                            "Conv2DQuantizeWrapper",
                                            "Conv2DTransposeQuantizeWrapper",
                                            "SeparableConv2DQuantizeWrapper"}));
  EXPECT_TRUE(std::ranges::is_sorted(own));
  EXPECT_TRUE(std::ranges::is_sorted(users));
  EXPECT_THAT(users, ::testing::Contains("RegistryWeightedQuantizeWrapper"));
}

TEST(WrapperRegistry, ReturnsTheSitesOfAClass) {
  EXPECT_EQ(wrapper_info("Dense").sites, (QdqSites{.weights = {"kernel"}}));
  EXPECT_EQ(wrapper_info("SeparableConv2D").sites,
            (QdqSites{.intermediate = "depthwise",
                      .weights = {"depthwise_kernel", "pointwise_kernel"}}));
  EXPECT_EQ(wrapper_info("Add").sites,
            (QdqSites{.inputs = QdqSites::kEveryInput}));
  EXPECT_EQ(wrapper_info("ReLU").sites, (QdqSites{.inputs = 0}));
}

TEST(WrapperRegistry, FindsAWrapperByEveryAliasOfTheClass) {
  EXPECT_EQ(wrapper_info("MaxPool2D").name, "MaxPooling2DQuantizeWrapper");
  EXPECT_EQ(wrapper_info("MaxPool2D").layer_class, "MaxPooling2D");
  EXPECT_EQ(wrapper_info("ReLU").name, "");
  EXPECT_EQ(wrapper_info("NoSuchClass").name, "");
}

std::shared_ptr<BaseQuantizeWrapper> make_plain(std::shared_ptr<Layer> inner) {
  return std::make_shared<PlainQuantizeWrapper>(std::move(inner));
}

/// Returns the failure of register_wrapper() for a name.
template <class E = ValueError>
Failure refusal(const std::string& name) {
  const auto before = wrapper_infos().size();
  const Failure failure = failure_of<E>(
      [&] { register_wrapper({.name = name, .create = make_plain}); });
  EXPECT_EQ(wrapper_infos().size(), before);
  return failure;
}

TEST(RegisterWrapper, RefusesANameThatBreaksTheConvention) {
  for (const std::string name :
       {"MyWrapper", "QuantizeWrapper", "ReLUQuantizeWrappers",
        "ReLUquantizewrapper", ""}) {
    EXPECT_EQ(refusal(name), (Failure{"invalid_value", "register_wrapper"}));
  }
}

TEST(RegisterWrapper, RefusesAnUnknownClass) {
  const Failure unknown{"unsupported_layer", "register_wrapper"};
  EXPECT_EQ(refusal<UnsupportedError>("Sofmax2QuantizeWrapper"), unknown);
  EXPECT_EQ(refusal<UnsupportedError>("relUQuantizeWrapper"), unknown);
}

TEST(RegisterWrapper, RefusesASecondWrapperOfAClass) {
  const Failure duplicate{"duplicate_name", "register_wrapper"};
  EXPECT_EQ(refusal("Conv2DQuantizeWrapper"), duplicate);
  EXPECT_EQ(refusal("MaxPool2DQuantizeWrapper"), duplicate);
  user_layer<0>();
  register_for<OffsetQuantizeWrapper, 0>();
  EXPECT_EQ(refusal("RegistryWeightedQuantizeWrapper"), duplicate);
}

// Example of the toolkit's documentation, "Add New Layer Support".
TEST(UserWrapper, MayBeNamedAfterAnAliasOfTheClass) {
  static const bool done =
      (register_wrapper<PlainQuantizeWrapper>(
           {.name = "GlobalMaxPool2DQuantizeWrapper", .enabled = false}),
       true);
  (void)done;
  const WrapperInfo info = wrapper_info("GlobalMaxPooling2D");
  EXPECT_EQ(info.name, "GlobalMaxPool2DQuantizeWrapper");
  EXPECT_EQ(info.layer_class, "GlobalMaxPooling2D");
  EXPECT_TRUE(info.user_defined);
  const Model model = single(GlobalMaxPooling2D({.name = "pool"}), {4, 4, 2});
  const Model quantized = quantize_model(
      model, by_toolkit(spec_of("GlobalMaxPool2D", {.is_keras_class = true})));
  EXPECT_NE(
      dynamic_cast<const PlainQuantizeWrapper*>(&quantized.layer("quant_pool")),
      nullptr);
  EXPECT_EQ(refusal("GlobalMaxPooling2DQuantizeWrapper"),
            (Failure{"duplicate_name", "register_wrapper"}));
}

TEST(UserWrapper, WithWeightsQuantizesTheParameterOfItsKernelType) {
  const Model model = single(user_layer<0>(), {2});
  register_for<OffsetQuantizeWrapper, 0>();
  model.layer("user").parameter("offset").variable.assign(
      tensor({2}, {1.27f, 0.004f}));
  QuantizeOptions options = by_toolkit();
  options.weight = {.narrow_range = true, .rule = ScaleRule::live};
  EXPECT_EQ(plan_for(model, options).to_string(),
            "user  input 0  int8 [-128,127] per tensor fixed  default  "
            "default of RegistryWeighted\n"
            "user  offset   int8 [-127,127] per tensor live   default  "
            "default of RegistryWeighted\n");
  Model quantized = quantize_model(model, options);
  EXPECT_EQ(weight_bits(quantized), weight_bits(model));
  quantizer(quantized, "x")->set_enabled(false);
  // 0.004 is nearer to 0 than to 0.01.
  EXPECT_EQ(values(quantized.predict(tensor({1, 2}, {5, 7}))),
            (std::vector<float>{5 + 1.27f, 7}));
}

TEST(UserWrapper, WithoutWeightsQuantizesTheFirstInput) {
  const SymbolicTensor x = input({3}, "x");
  const Model model(x, user_layer<1>()({x, x}));
  register_for<PlainQuantizeWrapper, 1>();
  EXPECT_THAT(sites_of(plan_for(model, by_toolkit())), ElementsAre("input 0"));
}

TEST(UserWrapper, OfSeveralInputsQuantizesTheRequestedInputs) {
  const SymbolicTensor x = input({3}, "x");
  const Model model(x, user_layer<2>()({x, x, x}));
  register_for<JoiningQuantizeWrapper, 2>();
  EXPECT_THAT(sites_of(plan_for(model, by_toolkit())),
              ElementsAre("input 0", "input 1", "input 2"));
  EXPECT_THAT(
      sites_of(plan_for(
          model, by_toolkit(spec_of("user", {.quantization_index = {2, 0}})))),
      ElementsAre("input 0", "input 2"));
}

TEST(UserWrapper, DefinesItsSites) {
  const SymbolicTensor x = input({3}, "x");
  const Model model(x, user_layer<3>()({x, x, x}));
  register_for<OwnQuantizeWrapper, 3>();
  EXPECT_THAT(sites_of(plan_for(model, by_toolkit())),
              ElementsAre("input 0", "input 1", "output"));
  Model quantized = quantize_model(model, by_toolkit());
  quantizer(quantized, "x")->set_scale(1);
  quantizer(quantized, "user")->set_scale(2);
  // 2 * round(2.9) + 2.9, then rounded to even numbers.
  EXPECT_EQ(values(quantized.predict(tensor({1, 3}, {2.9f, 2, -3}))),
            (std::vector<float>{8, 6, -8}));
}

TEST(UserWrapper, ThatIsOffByDefaultNeedsARequest) {
  const Model model = single(user_layer<4>(), {3});
  register_for<PlainQuantizeWrapper, 4>(false);
  EXPECT_FALSE(wrapper_info(kClasses[4]).enabled);
  EXPECT_TRUE(plan_for(model, by_toolkit()).points.empty());
  EXPECT_THAT(sites_of(plan_for(model, by_toolkit(spec_of("user")))),
              ElementsAre("input 0"));
}

TEST(UserWrapper, WithAParameterThatTheLayerLacksIsRefused) {
  const Model model = single(user_layer<5>(), {3});
  static const bool done = (register_wrapper({
                                .name = "RegistryMistakenQuantizeWrapper",
                                .sites = {.weights = {"ofset"}},
                            }),
                            true);
  (void)done;
  EXPECT_THROW((void)quantize_model(model, by_toolkit()), NotFoundError);
}

TEST(UserWrapper, MustWrapTheGivenLayer) {
  const Model model = single(user_layer<6>(), {3});
  static bool none = true;
  static const bool done =
      (register_wrapper({
           .name = "RegistryStrayQuantizeWrapper",
           .create = [](std::shared_ptr<Layer>)
               -> std::shared_ptr<BaseQuantizeWrapper> {
             return none ? nullptr : make_plain(user_layer<6>().layer());
           },
       }),
       true);
  (void)done;
  const auto refused = [&] {
    return failure_of<ValueError>(
        [&] { (void)quantize_model(model, by_toolkit()); });
  };
  none = true;
  EXPECT_EQ(refused(), (Failure{"invalid_value", "make_wrapper"}));
  none = false;
  EXPECT_EQ(refused(), (Failure{"invalid_value", "make_wrapper"}));
}

TEST(UserWrapper, KeepsItsClassInAClone) {
  const Model model = single(user_layer<7>(), {3});
  register_for<OffsetQuantizeWrapper, 7>();
  Model quantized = quantize_model(model, by_toolkit());
  quantizer(quantized, "x")->set_scale(0.25f);
  const Model copy = quantized.clone();
  EXPECT_NE(
      dynamic_cast<const OffsetQuantizeWrapper*>(&copy.layer("quant_user")),
      nullptr);
  EXPECT_EQ(copy.layer("quant_user").class_name(),
            "RegistryClonedQuantizeWrapper");
  EXPECT_EQ(plan_of(copy), plan_of(quantized));
  EXPECT_EQ(scales(copy), scales(quantized));
}

TEST(UserWrapper, NeedsNoSeparateClass) {
  const Model model = single(user_layer<9>(), {3});
  static const bool done =
      (register_wrapper({.name = "RegistryDataQuantizeWrapper",
                         .sites = {.inputs = 0, .weights = {"offset"}}}),
       true);
  (void)done;
  EXPECT_THAT(sites_of(plan_for(model, by_toolkit())), ElementsAre("offset"));
  EXPECT_EQ(weight_bits(quantize_model(model, by_toolkit())),
            weight_bits(model));
}

TEST(UserLayer, WithoutAWrapperAcceptsManualPoints) {
  const Model model = single(user_layer<8>(), {3});
  EXPECT_TRUE(plan_for(model, by_toolkit()).points.empty());
  const QdqPlan plan = plan_by_hand("user", "x");
  EXPECT_EQ(plan_of(apply(plan, model)), plan);
}

TEST(QuantizeModel, KeepsEveryWeightOfLobelia) {
  const Model model = zoo::lobelia();
  EXPECT_EQ(weight_bits(quantize_model(model, by_toolkit())),
            weight_bits(model));
}

}  // namespace
}  // namespace octet::quant
