#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::StartsWith;

using Values = std::vector<float>;

/// A wrapper around `inner` with default quantizers at input 0 and the kernel;
/// the activation's scale is set.
std::shared_ptr<BaseQuantizeWrapper> wrap(const LayerHandle& inner,
                                          float scale = 0.01f) {
  auto x = std::make_shared<Quantizer>("x", activation_quantizer());
  x->set_scale(scale);
  auto w = std::make_shared<Quantizer>("w", weight_quantizer());
  const auto wrapper = make_wrapper(inner.layer());
  wrapper->attach({QdqSite::input(0), x, "test"});
  wrapper->attach({QdqSite::weight("kernel"), w, "test"});
  return wrapper;
}

QuantParams activation_qparams(float scale) {
  return {.scale = Tensor::scalar(scale)};
}

/// The per-channel quantization parameters of a kernel by their definition.
QuantParams kernel_qparams(const Tensor& kernel) {
  const auto channels = static_cast<size_t>(kernel.shape()[-1]);
  Tensor scale = Tensor::zeros({kernel.shape()[-1]});
  for (size_t i = 0; i < kernel.f32().size(); ++i) {
    float& top = scale.f32()[i % channels];
    top = std::max(top, std::fabs(kernel.f32()[i]));
  }
  for (float& s : scale.f32()) s /= 127;
  return {.scale = scale, .axis = -1, .low = -127, .high = 127};
}

TEST(Wrapper, IsNamedAfterTheClassItWraps) {
  EXPECT_EQ(wrap(Conv2D({.filters = 1}))->class_name(),
            "Conv2DQuantizeWrapper");
  EXPECT_EQ(wrap(Dense({.units = 1}))->class_name(), "DenseQuantizeWrapper");
}

TEST(Wrapper, ListsItsQuantizers) {
  const auto wrapper = wrap(Dense({.units = 5}));
  const Config config = wrapper->config();
  EXPECT_EQ(config.at("class_name").as_string(), "Dense");
  EXPECT_EQ(config.at("config").at("units").as_int(), 5);
  const Config& input = config.at("activations").as_list().at(0);
  EXPECT_EQ(input.at("name").as_string(), "x");
  EXPECT_EQ(input.at("site").as_string(), "input 0");
  EXPECT_EQ(input.at("rule").as_string(), "fixed");
  EXPECT_EQ(static_cast<float>(input.at("scale").as_number()), 0.01f);
  const Config& weight = config.at("weights").as_list().at(0);
  EXPECT_EQ(weight.at("parameter").as_string(), "kernel");
  EXPECT_EQ(weight.at("bits").as_int(), 8);
  EXPECT_TRUE(weight.at("narrow_range").as_bool());
  EXPECT_TRUE(weight.at("per_channel").as_bool());
  EXPECT_EQ(weight.at("rule").as_string(), "live");
  EXPECT_EQ(weight.find("scale"), nullptr);
}

TEST(Wrapper, HasShapesParametersAndWorkOfItsLayer) {
  const Conv2D inner({.filters = 4});
  const auto wrapper = wrap(inner);
  const SymbolicTensor x = input({6, 7, 3});
  const SymbolicTensor y = call(wrapper, {x});
  EXPECT_EQ(y.shape(), Shape({Shape::kAnySize, 4, 5, 4}));
  EXPECT_EQ(wrapper->parameters().size(), 2u);
  EXPECT_EQ(wrapper->parameters().data(), inner->parameters().data());
  const Shape shape = x.shape();
  EXPECT_EQ(wrapper->facts(std::span(&shape, 1)).multiply_adds,
            inner->facts(std::span(&shape, 1)).multiply_adds);
}

// All properties at once, including those of later versions.
class EveryWrapper : public testing::TestWithParam<const char*> {};

TEST_P(EveryWrapper, HasTheFactsOfItsLayer) {
  const Model model = zoo::make(GetParam());
  const Model quantized = quantize_model(model, {.policy = Policy::toolkit});
  int wrappers = 0;
  for (const auto& node : quantized.nodes()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*node->layer);
    if (wrapper == nullptr) continue;
    ++wrappers;
    std::vector<Shape> shapes;
    for (const SymbolicTensor& x : node->inputs) shapes.push_back(x.shape());
    LayerFacts expected = wrapper->inner().facts(shapes);
    expected.identity = Identity::never;  // quantizers change values
    EXPECT_EQ(wrapper->facts(shapes), expected) << node->layer->name();
  }
  EXPECT_GT(wrappers, 0);
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryWrapper,
                         testing::Values("resnet8", "mobilenet_v2", "vit_tiny",
                                         "unet"));

TEST(Wrapper, RefusesNullAndAWrapper) {
  EXPECT_EQ(failure_of<ValueError>([] { BaseQuantizeWrapper(nullptr); }),
            (Failure{"missing_value", "quantize wrapper"}));
  EXPECT_EQ(failure_of<ValueError>(
                [] { BaseQuantizeWrapper(wrap(Dense({.units = 1}))); }),
            (Failure{"already_quantized", "quantize wrapper"}));
}

TEST(Wrapper, AddsItsNameToErrorsOfTheLayer) {
  const auto wrapper = wrap(Conv2D({.filters = 1}));
  wrapper->set_name("quant_stem");
  const Failure failure = failure_of<ShapeError>([&] {
    (void)call(wrapper, {input({2, 2, 1})});
  });
  EXPECT_THAT(
      failure.context,
      Contains(StartsWith("in layer 'quant_stem' (Conv2DQuantizeWrapper)")));
}

TEST(Wrapper, InitializesTheWeightsOfItsLayer) {
  const SymbolicTensor x = input({3});
  const auto wrapper = wrap(Dense({.units = 4}));
  const Model model(x, call(wrapper, {x}));
  const Values kernel = values(model.layers()[1]->parameter("kernel").variable);
  EXPECT_NE(kernel, Values(12, 0.0f));
}

TEST(WrapperForward, OfConv2DIsTheLayerOnQuantizedInputsAndWeights) {
  const float scale = 0.0073f;
  Conv2DOptions options{.filters = 17, .padding = Padding::same};
  options.strides = {2, 1};
  const Conv2D inner(options);
  const SymbolicTensor input_image = input({6, 7, 3});
  const Model model(input_image, call(wrap(inner, scale), {input_image}));
  shake(model);
  const Tensor x = noise({2, 6, 7, 3});
  const Tensor kernel = inner->parameter("kernel").variable.value();
  const NoGradGuard no_grad;
  const Variable expected = bias_add(
      conv2d(fake_quantize(Variable(x), activation_qparams(scale)),
             fake_quantize(Variable(kernel), kernel_qparams(kernel)),
             {.strides = {2, 1},
              .pads = Padding::same.pads({6, 7}, {3, 3}, {2, 1}, {1, 1})}),
      inner->parameter("bias").variable);
  EXPECT_EQ(bits(model(Variable(x))), bits(expected));
}

TEST(WrapperForward, OfDenseIsTheLayerOnQuantizedInputsAndWeights) {
  const float scale = 0.0073f;
  const Dense inner({.units = 5});
  const SymbolicTensor row = input({17});
  const Model model(row, call(wrap(inner, scale), {row}));
  shake(model);
  const Tensor x = noise({3, 17});
  const Tensor kernel = inner->parameter("kernel").variable.value();
  const NoGradGuard no_grad;
  const Variable expected =
      bias_add(dense(fake_quantize(Variable(x), activation_qparams(scale)),
                     fake_quantize(Variable(kernel), kernel_qparams(kernel))),
               inner->parameter("bias").variable);
  EXPECT_EQ(bits(model(Variable(x))), bits(expected));
}

TEST(WrapperForward, MultipliesQuantizedValues) {
  // By hand: inputs 50, -128 (saturated), kernel 127, -64.
  const Dense inner({.units = 1, .use_bias = false});
  const SymbolicTensor row = input({2});
  const Model model(row, call(wrap(inner, 0.5f), {row}));
  inner->parameter("kernel").variable.assign(tensor({2, 1}, {1.27f, -0.64f}));
  const NoGradGuard no_grad;
  const float y = model(Variable(tensor({1, 2}, {25.1f, -70}))).value().item();
  // Twice the rounding of 0.5 * 0.01 * (50 * 127 + 128 * 64).
  EXPECT_NEAR(y, 0.5 * 0.01 * (50 * 127 + 128 * 64), 1e-5);
}

TEST(WrapperForward, LeavesTheWeightsUnchanged) {
  const Dense inner({.units = 5});
  const SymbolicTensor row = input({4});
  const Model model(row, call(wrap(inner), {row}));
  shake(model);
  const auto before = weight_bits(model);
  (void)model(Variable(noise({3, 4}))).value();
  EXPECT_EQ(weight_bits(model), before);
}

TEST(WrapperForward, DisabledEqualsTheLayer) {
  const Dense inner({.units = 5});
  const auto wrapper = wrap(inner);
  const SymbolicTensor row = input({4});
  const Model wrapped(row, call(wrapper, {row}));
  shake(wrapped);
  wrapper->activations()[0].quantizer->set_enabled(false);
  wrapper->weights()[0].quantizer->set_enabled(false);
  const Tensor x = noise({3, 4});
  const NoGradGuard no_grad;
  const Variable expected =
      bias_add(dense(Variable(x), inner->parameter("kernel").variable),
               inner->parameter("bias").variable);
  EXPECT_EQ(bits(wrapped(Variable(x))), bits(expected));
}

/// A plan with a fixed per-tensor weight scale.
Model with_fixed_weights() {
  QuantizeOptions options;
  options.weight = {.narrow_range = true};
  return quantize_model(doubling(), options);
}

TEST(WrapperForward, RefusesAFixedWeightUntilItHasAScale) {
  Model model = with_fixed_weights();
  quantizer(model, "x")->set_enabled(false);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)model.predict(noise({2, 3}));
            }),
            (Failure{"not_calibrated", "quantizer 'first/kernel'"}));
}

TEST(WrapperForward, UsesAFixedWeightScale) {
  Model model = with_fixed_weights();
  for (const char* name : {"x", "relu"}) {
    quantizer(model, name)->set_enabled(false);
  }
  quantizer(model, "first/kernel")->set_scale(0.75f);
  quantizer(model, "second/kernel")->set_scale(1);
  // 2 is between 1.5 and 2.25 and rounds to the nearer.
  EXPECT_EQ(values(model.predict(tensor({1, 3}, {1, 2, 4}))),
            (Values{2.25f, 4.5f, 9}));
}

/// A quantized dense layer of one unit, whose output has a gradient.
struct OneUnit {
  explicit OneUnit(const Values& kernel, float scale)
      : inner({.units = 1, .use_bias = false}),
        wrapper(wrap(inner, scale)),
        x(input({static_cast<int64_t>(kernel.size())})),
        model(x, call(wrapper, {x})) {
    inner->parameter("kernel").variable.assign(
        tensor({static_cast<int64_t>(kernel.size()), 1}, kernel));
  }
  Dense inner;
  std::shared_ptr<BaseQuantizeWrapper> wrapper;
  SymbolicTensor x;
  Model model;
};

TEST(StraightThrough, InputsInRangeGetTheQuantizedWeightOthersZero) {
  const Values kernel{1.27f, -1, 0.5f, 0.254f, -0.3f, 0.11f, 1, -0.7f};
  const OneUnit net(kernel, 1);
  // Just inside and just outside [-128,127] after rounding.
  const Variable x(tensor({1, 8}, {127.4f, 127.6f, -128.4f, -128.6f, 0, 1e30f,
                                   126.9f, -1e30f}),
                   true);
  net.model(x).backward();
  const bool inside[] = {true, false, true, false, true, false, true, false};
  const Values gradient = values(x.grad());
  for (size_t i = 0; i < kernel.size(); ++i) {
    const float w = rounded_to(kernel[i], 1.27f / 127, -127);
    EXPECT_FLOAT_EQ(gradient[i], inside[i] ? w : 0) << i;
  }
}

TEST(StraightThrough, WeightsGetTheQuantizedInput) {
  const OneUnit net({1.27f, -1, 0.5f, -1.27f}, 0.5f);
  net.model(Variable(tensor({1, 4}, {1.1f, -0.3f, 500, -500}))).backward();
  // Live scales cover all weights, so none is clipped.
  const Values expected{1, -0.5f, 63.5f, -64};
  const Values gradient =
      values(net.inner->parameter("kernel").variable.grad());
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(gradient[i], expected[i]);
}

TEST(StraightThrough, WeightsBeyondAFixedRangeGetNoGradient) {
  const SymbolicTensor x = input({4});
  const Model real(x, Dense({.units = 1, .use_bias = false, .name = "d"})(x));
  real.layer("d").parameter("kernel").variable.assign(
      tensor({4, 1}, {127.4f, 127.6f, -127.4f, -127.6f}));
  QuantizeOptions options;
  options.weight = {.narrow_range = true};
  Model model = quantize_model(real, options);
  quantizer(model, "d/kernel")->set_scale(1);
  quantizer(model, "input_layer")->set_enabled(false);
  model(Variable(tensor({1, 4}, {5, 6, 7, 8}))).backward();
  EXPECT_EQ(values(model.layer("quant_d").parameter("kernel").variable.grad()),
            (Values{5, 0, 7, 0}));
}

TEST(StraightThrough, DisabledPassesEveryGradient) {
  OneUnit net({2, -3}, 1);
  for (const auto& q : quantizers(net.model)) q->set_enabled(false);
  const Variable x(tensor({1, 2}, {1000, -1000}), true);
  net.model(x).backward();
  EXPECT_EQ(values(x.grad()), (Values{2, -3}));
}

TEST(Wrapper, RefusesInvalidPoints) {
  const auto dense = [] { return Dense({.units = 2, .name = "d"}).layer(); };
  const auto some = std::make_shared<Quantizer>("q", QuantizerConfig());
  const auto with = [&](const QdqSite& site,
                        const std::shared_ptr<Quantizer>& quantizer) {
    const auto wrapper = make_wrapper(dense());
    wrapper->attach({site, quantizer});
    return call(wrapper, {input({3})});
  };
  EXPECT_THROW(with(QdqSite::input(0), nullptr), ValueError);
  EXPECT_THROW(with(QdqSite::input(-1), some), ValueError);
  EXPECT_THROW(with(QdqSite::input(5), some), ValueError);
  EXPECT_THROW(with(QdqSite::weight("kernel"), nullptr), ValueError);
  EXPECT_THROW(with(QdqSite::weight("kernl"), some), NotFoundError);
  const auto live = std::make_shared<Quantizer>("w", weight_quantizer());
  EXPECT_THROW(with(QdqSite::output(), live), UnsupportedError);
}

TEST(Quantizer, FollowsAWeightThatChanges) {
  const Quantizer quantizer("w", weight_quantizer());
  const Variable w(Tensor::full({2, 3}, 127));
  EXPECT_EQ(values(quantizer.weight_qparams(w, -1).scale)[0], 1.0f);
  EXPECT_EQ(values(quantizer.weight_qparams(w, -1).scale)[2], 1.0f);
  w.assign(Tensor::full({2, 3}, 254));
  EXPECT_EQ(values(quantizer.weight_qparams(w, -1).scale)[0], 2.0f);
  w.mutable_value()[1] = 381;
  EXPECT_EQ(values(quantizer.weight_qparams(w, -1).scale)[1], 3.0f);
  EXPECT_EQ(quantizer.weight_qparams(w, 0).scale.size(), 2);
  const Variable other(Tensor::full({2, 3}, 12.7f));
  EXPECT_EQ(values(quantizer.weight_qparams(other, -1).scale)[1], 12.7f / 127);
}

}  // namespace
}  // namespace octet::quant
